// A process that copies, but makes one upward arrow of every pair of asterisks. It shows why coroutines are pleasant:
// the process reads its second asterisk where it needs it, and keeps no state between calls because there are no calls.
// Hoare, Communicating Sequential Processes (1978), section 3.2. He assumed that the text does not end with an
// asterisk, and left the other case as an exercise; here it is.
#include <weft/chan.h>
#include <weft/go.h>
#include <cstdio>
#include <optional>
#include <string_view>

namespace {

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

void show(std::string_view text) {
  weft::chan<char> west, east;
  weft::go(squash, west, east);
  weft::go([text, west] {
    for (char c : text) west.send(c);
    west.close();
  });
  std::printf("%-16.*s", static_cast<int>(text.size()), text.data());
  for (char c : east) std::putchar(c);
  std::putchar('\n');
}

}  // namespace

int main() {
  weft::run([] {
    for (const char* text : {"2**10 = 1024", "a * b", "*****", "odd at the end*", "even there**"}) show(text);
  });
}
