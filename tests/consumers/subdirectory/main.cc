// SPDX-License-Identifier: MIT
#include <weft/weft.h>

#include <cstdio>
#include <stdexcept>

int main() {
  int caught = 0;
  try {
    weft::run([] {
      weft::wait_group started;
      started.add();
      weft::go([&started] { started.done(); });
      started.wait();
      throw std::runtime_error("out of the main goroutine");
    });
  } catch (const std::runtime_error&) {
    ++caught;
  }
  std::printf("caught %d\n", caught);
  return caught == 1 ? 0 : 1;
}
