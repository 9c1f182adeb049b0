// A process that copies: what comes in from the west goes out to the east, character by character, until the west has
// no more. Hoare, Communicating Sequential Processes (1978), section 3.1; his parallel command [west || X || east] is a
// `go` for each process, his west?c and east!c are recv and send.
#include <weft/chan.h>
#include <weft/go.h>
#include <cstdio>
#include <string_view>

namespace {

void speak(std::string_view text, weft::chan<char> east) {
  for (char c : text) east.send(c);
  east.close();  // no more: whoever receives finds the end
}

void copy(weft::chan<char> west, weft::chan<char> east) {
  for (char c : west) east.send(c);
  east.close();
}

}  // namespace

int main() {
  weft::run([] {
    weft::chan<char> mouth, wire, ear;  // handles: copies of one name the same channel
    weft::go(speak, "The shuttle carries the weft through the warp.\n", mouth);
    weft::go(copy, mouth, wire);
    weft::go(copy, wire, ear);  // two in a row: copying twice is copying
    for (char c : ear) std::putchar(c);
  });
}
