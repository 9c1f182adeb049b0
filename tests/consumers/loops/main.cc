// SPDX-License-Identifier: MIT
// To be run with WEFT_DEBUG=preempt, which gives way at every check. Are there any, in a loop that calls nothing?
#include <weft/weft.h>

#include <cstdio>

int main(int count, char**) {
  weft::run([count] {
    const unsigned sum = weft::spawn([count] {
                           unsigned x = 0;
                           // Nobody knows how often it goes round.
                           for (unsigned left = static_cast<unsigned>(count) * 27; left != 1; ++x)
                             left = left % 2 == 0 ? left / 2 : 3 * left + 1;
                           return x;
                         }).join();
    std::printf("%u, %s\n", sum, weft::runtime::read_stats().preempts_done >= 100 ? "preempted" : "not preempted");
  });
}
