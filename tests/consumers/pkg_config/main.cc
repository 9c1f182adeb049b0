// SPDX-License-Identifier: MIT
// Compiled by hand: c++ -std=c++20 main.cc $(pkg-config --cflags --libs weft)
#include <weft/weft.h>

#include <cstdio>
#include <vector>

int main() {
  const std::vector<long> squares = weft::run([] {
    std::vector<long> result(100);
    weft::wait_group all;
    for (std::size_t i = 0; i < result.size(); ++i) {
      all.go([&result, i] { result[i] = static_cast<long>(i * i); });
    }
    all.wait();
    return result;
  });
  long sum = 0;
  for (const long square : squares) sum += square;
  std::printf("sum %ld\n", sum);
  return sum == 328350 ? 0 : 1;
}
