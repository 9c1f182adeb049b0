// SPDX-License-Identifier: MIT
// A hundred goroutines receive at once from blocking sockets: with weft::posix without a thread for each of them.
#include <sys/socket.h>
#include <unistd.h>
#include <weft/weft.h>

#include <cstdio>
#include <vector>

int main() {
  return weft::run([] {
    constexpr int kCount = 100;
    std::vector<int> ends;
    weft::wait_group group;
    for (int i = 0; i < kCount; ++i) {
      int both[2];
      if (socketpair(AF_UNIX, SOCK_STREAM, 0, both) != 0) return 1;
      ends.push_back(both[1]);
      group.go([fd = both[0]] {
        char byte;
        if (recv(fd, &byte, 1, 0) != 1) std::puts("not received");
        close(fd);
      });
    }
    // Until all of them wait, or hold a thread each.
    for (int round = 0; round < 200; ++round) weft::this_goroutine::sleep_for(std::chrono::milliseconds(1));
    const auto threads = weft::runtime::read_stats().threads;
    for (const int fd : ends) {
      if (send(fd, "x", 1, 0) != 1) return 1;
      close(fd);
    }
    group.wait();
    std::puts(threads < 20 ? "parked" : "kept threads");
    return 0;
  });
}
