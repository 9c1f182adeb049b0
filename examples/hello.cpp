// Twenty lines: a thousand goroutines, joined tasks, a value and an exception that reach the one who waits.
#include <weft/weft.h>
#include <cstdio>
#include <stdexcept>

int main() {
  return weft::run([] {
    weft::wait_group group;
    std::atomic<int> sum{0};
    for (int i = 1; i <= 1000; ++i) group.go([i, &sum] { sum += i; });
    group.wait();
    auto answer = weft::spawn([](int a, int b) { return a * b; }, 6, 7);
    auto failure = weft::spawn([] { throw std::runtime_error("caught by who joins"); });
    std::printf("sum %d, answer %d\n", sum.load(), answer.join());
    try {
      failure.join();
    } catch (const std::exception& error) {
      std::printf("%s\n", error.what());
    }
    return 0;
  });
}
