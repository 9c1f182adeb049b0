// A subroutine as a process: it waits for a dividend and a divisor, and sends back quotient and remainder. Many callers
// share it; each question carries the channel for its answer, for a channel is a value like any other.
// Hoare, Communicating Sequential Processes (1978), section 4.1, whose processes had one caller known by name.
#include <weft/chan.h>
#include <weft/go.h>
#include <cstdio>
#include <vector>

namespace {

struct division {
  int quotient, remainder;
};

struct question {
  int x, y;
  weft::chan<division> answer;
};

void divide(weft::chan<question> questions) {
  for (auto& [x, y, answer] : questions) {
    division result{0, x};
    while (result.remainder >= y) {
      result.remainder -= y;
      ++result.quotient;
    }
    answer.send(result);
  }
}

division ask(weft::chan<question> divider, int x, int y) {
  weft::chan<division> answer;
  divider.send({x, y, answer});
  return *answer.recv();
}

}  // namespace

int main() {
  weft::run([] {
    weft::chan<question> divider;
    weft::go(divide, divider);
    std::vector<weft::task<division>> callers;
    for (int y = 1; y <= 9; ++y) callers.push_back(weft::spawn(ask, divider, 100, y));
    for (int y = 1; auto& caller : callers) {
      const division d = caller.join();
      std::printf("100 = %d * %d + %d\n", y++, d.quotient, d.remainder);
    }
    divider.close();  // the subroutine ends: nobody can call it any more
  });
}
