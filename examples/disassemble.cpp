// A process that takes a file of punched cards apart: a stream of cards comes in, a stream of characters goes out, with a
// space after each card. Hoare, Communicating Sequential Processes (1978), section 3.3. Channels are typed: cards are
// strings, what follows them is characters.
#include <weft/chan.h>
#include <weft/go.h>
#include <cstdio>
#include <string>

namespace {

void disassemble(weft::chan<std::string> cards, weft::chan<char> east) {
  for (const std::string& card : cards) {
    for (char c : card) east.send(c);
    east.send(' ');
  }
  east.close();
}

}  // namespace

int main() {
  weft::run([] {
    weft::chan<std::string> cards;
    weft::chan<char> characters;
    weft::go([cards] {
      for (const char* card : {"one card", "and another", "", "the last"}) cards.send(card);
      cards.close();
    });
    weft::go(disassemble, cards, characters);
    int count = 0;
    for (char c : characters) {
      std::putchar(c == ' ' ? '_' : c);  // so that every space is seen
      ++count;
    }
    std::printf("\n%d characters\n", count);
  });
}
