// SPDX-License-Identifier: MIT
// To be run with WEFT_DEBUG=preempt, which gives way at every check. Are there any?
#include <weft/weft.h>

#include <cstdio>
#include <thread>

__attribute__((noinline)) static int step(int x) {
  asm volatile("");
  return x * 3 + 1;
}

int main() {
  std::thread([] {}).join();
  weft::run([] {
    const int sum = weft::spawn([] {
                      unsigned x = 0;
                      for (int i = 0; i < 5000; ++i) x += static_cast<unsigned>(step(i));
                      return static_cast<int>(x);
                    }).join();
    std::printf("%d, %s\n", sum, weft::runtime::read_stats().preempts_done >= 5000 ? "preempted" : "not preempted");
  });
}
