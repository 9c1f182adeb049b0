// Cards of 80 characters come in, lines of 125 go out: neither number divides the other, and a single loop for it would be
// a knot of counters. As processes side by side it is two plain loops that know nothing of each other:
// [west :: disassemble || X :: copy || east :: assemble]. Hoare, Communicating Sequential Processes (1978), section 3.5.
#include <weft/chan.h>
#include <weft/go.h>
#include <cstdio>
#include <string>
#include <utility>

namespace {

constexpr std::size_t kCard = 80, kLine = 125;

void read_cards(weft::chan<std::string> cards) {
  for (std::string text : {"A loom is a machine for parallel work. The warp threads are stretched side by",
                           "side, each under its own tension, each a sequence with a beginning and an end;",
                           "alone they are only threads. The weft is what runs between them: it visits one",
                           "after the other, over and under, and by going to and fro it makes a cloth."}) {
    text.resize(kCard, ' ');
    cards.send(std::move(text));
  }
  cards.close();
}

void disassemble(weft::chan<std::string> cards, weft::chan<char> east) {
  for (const std::string& card : cards) {
    for (char c : card) east.send(c);
    east.send(' ');
  }
  east.close();
}

void copy(weft::chan<char> west, weft::chan<char> east) {
  for (char c : west) east.send(c);
  east.close();
}

void assemble(weft::chan<char> west, weft::chan<std::string> printer) {
  std::string line;
  for (char c : west) {
    line.push_back(c);
    if (line.size() == kLine) printer.send(std::exchange(line, {}));
  }
  if (!line.empty()) {
    line.resize(kLine, ' ');
    printer.send(std::move(line));
  }
  printer.close();
}

}  // namespace

int main() {
  weft::run([] {
    weft::chan<std::string> cards, printer;
    weft::chan<char> west, east;
    weft::go(read_cards, cards);
    weft::go(disassemble, cards, west);
    weft::go(copy, west, east);
    weft::go(assemble, east, printer);
    for (const std::string& line : printer) std::printf("|%s|\n", line.c_str());
  });
}
