// The set of integers once more, but every element is a process: it holds one number, and passes what concerns larger ones
// on to its neighbour in the east. The user need not wait while an insertion wanders down the chain, so that many are under
// way at once: inserting takes the time of one step, however large the set is.
// Hoare, Communicating Sequential Processes (1978), section 4.5.
#include <weft/chan.h>
#include <weft/go.h>
#include <cstdio>
#include <optional>
#include <utility>
#include <variant>

namespace {

struct insert {
  int n;
};
struct has {
  int n;
};
using command = std::variant<insert, has>;

// Numbers grow from west to east. The last process of the chain holds none.
void element(weft::chan<command> west, weft::chan<bool> answer) {
  std::optional<int> mine;
  weft::chan<command> east;
  for (command& next : west) {
    if (const has* question = std::get_if<has>(&next)) {
      if (mine && question->n > *mine)
        east.send(next);
      else
        answer.send(question->n == mine);  // straight to the user, not back through the chain
      continue;
    }
    int n = std::get<insert>(next).n;
    if (!mine) {
      mine = n;
      weft::go(element, east, answer);
    } else if (n != *mine) {
      if (n < *mine) std::swap(n, *mine);
      east.send(insert{n});
    }
  }
  if (mine) east.close();
}

}  // namespace

int main() {
  weft::run([] {
    weft::chan<command> set;
    weft::chan<bool> answer;
    weft::go(element, set, answer);
    for (int i = 0; i < 100; ++i) set.send(insert{i * 37 % 100 * 2});  // the even numbers below 200, in disorder
    for (int n : {0, 1, 98, 99, 198, 199, 200, -1}) {
      set.send(has{n});
      std::printf("has %d: %s\n", n, *answer.recv() ? "yes" : "no");
    }
    int members = 0;
    for (int n = -1000; n <= 1000; ++n) {
      set.send(has{n});
      members += *answer.recv();
    }
    std::printf("%d members\n", members);
    set.close();
  });
}
