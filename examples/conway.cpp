// Conway's problem, for which he invented coroutines in 1963: read cards of 80 characters, write lines of 125, and make
// one upward arrow of every pair of asterisks. With reformat.cpp at hand the solution is to put `squash` in the place of
// `copy`: [west :: disassemble || X :: squash || east :: assemble]. Nothing else changes.
// Hoare, Communicating Sequential Processes (1978), section 3.6.
#include <weft/chan.h>
#include <weft/go.h>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

namespace {

constexpr std::size_t kCard = 80, kLine = 125;

void read_cards(weft::chan<std::string> cards) {
  for (std::string text : {"Compound interest: a capital grows to capital*(1 + rate)**years. Ten years at 7",
                           "percent make 1.07**10, nearly double; the rule of thumb 2 = (1 + rate)**(72 / p)",
                           "with p in percent says the same. And a row of stars for the end: ***************"}) {
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

void squash(weft::chan<char> west, weft::chan<char> east) {
  while (const std::optional<char> c = west.recv()) {
    if (c != '*') {
      east.send(*c);
      continue;
    }
    const std::optional<char> next = west.recv();
    if (next == '*') {
      east.send('^');
    } else {
      east.send('*');
      if (next) east.send(*next);
    }
  }
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
    weft::go(squash, west, east);
    weft::go(assemble, east, printer);
    for (const std::string& line : printer) std::printf("|%s|\n", line.c_str());
  });
}
