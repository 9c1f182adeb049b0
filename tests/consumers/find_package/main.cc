// SPDX-License-Identifier: MIT
#include <weft/weft.h>

#include <atomic>
#include <cstdio>

int main() {
  std::atomic<int> sum{0};
  weft::run([&] {
    weft::wait_group all;
    for (int i = 1; i <= 1000; ++i) {
      all.add();
      weft::go([&, i] {
        sum += i;
        all.done();
      });
    }
    all.wait();
  });
  std::printf("sum %d\n", sum.load());
  return sum == 500500 ? 0 : 1;
}
