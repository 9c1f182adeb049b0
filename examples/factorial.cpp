// Recursion: a process that needs the factorial of a smaller number asks another process like itself, further east. The
// chain grows by one process whenever a question reaches its end, and goes away when its first channel is closed.
// Hoare, Communicating Sequential Processes (1978), section 4.2; his chain was an array, as long as the largest argument.
#include <weft/chan.h>
#include <weft/go.h>
#include <cstdint>
#include <cstdio>

namespace {

struct line {  // from a caller to its callee and back
  weft::chan<int> ask;
  weft::chan<std::uint64_t> answer;
};

void factorial(line west) {
  line east;
  bool has_neighbour = false;
  for (int n : west.ask) {
    if (n == 0) {
      west.answer.send(1);
      continue;
    }
    if (!has_neighbour) weft::go(factorial, east);
    has_neighbour = true;
    east.ask.send(n - 1);
    west.answer.send(static_cast<std::uint64_t>(n) * *east.answer.recv());
  }
  if (has_neighbour) east.ask.close();
}

}  // namespace

int main() {
  weft::run([] {
    line first;
    weft::go(factorial, first);
    for (int n : {0, 1, 5, 10, 20, 3}) {
      first.ask.send(n);
      std::printf("%2d! = %llu\n", n, static_cast<unsigned long long>(*first.answer.recv()));
    }
    first.ask.close();
  });
}
