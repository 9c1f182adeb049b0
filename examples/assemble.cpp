// A process that sets a stream of characters in lines of equal length, as for a line printer; the last line is filled up
// with spaces. Hoare, Communicating Sequential Processes (1978), section 3.4.
#include <weft/chan.h>
#include <weft/go.h>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace {

void assemble(weft::chan<char> west, weft::chan<std::string> printer, std::size_t width) {
  std::string line;
  for (char c : west) {
    line.push_back(c);
    if (line.size() == width) printer.send(std::exchange(line, {}));  // moved from hand to hand, never copied
  }
  if (!line.empty()) {
    line.resize(width, ' ');
    printer.send(std::move(line));
  }
  printer.close();
}

}  // namespace

int main() {
  weft::run([] {
    constexpr std::string_view kText = "abcdefghijklmnopqrstuvwxyz0123456789";
    for (const std::size_t width : {10u, 12u, 40u}) {
      weft::chan<char> characters;
      weft::chan<std::string> printer;
      weft::go([characters, kText] {
        for (char c : kText) characters.send(c);
        characters.close();
      });
      weft::go(assemble, characters, printer, width);
      for (const std::string& line : printer) std::printf("|%s|\n", line.c_str());
    }
  });
}
