// The dining philosophers without a footman: each takes the left fork, waits until all have done so, and reaches for the
// right one. Nobody will ever put a fork down, and the runtime says so: it names every goroutine, what it waits for, and
// where, and ends the program with status 2. (philosophers.cpp shows how to dine.)
// check: exit 2
// check: stdout ^5 philosophers hold a fork each$
// check: not-stdout eats
// check: first-stderr fatal error: all goroutines are asleep - deadlock!
// check: stderr ^goroutine \d+ "philosopher 0" \[mutex lock
// check: stderr ^goroutine \d+ "philosopher 1" \[mutex lock
// check: stderr ^goroutine \d+ "philosopher 2" \[mutex lock
// check: stderr ^goroutine \d+ "philosopher 3" \[mutex lock
// check: stderr ^goroutine \d+ "philosopher 4" \[mutex lock
// check: not-stderr \[mutex lock, \d+ minutes
#include <weft/barrier.h>
#include <weft/go.h>
#include <weft/mutex.h>
#include <array>
#include <cstdio>
#include <mutex>
#include <string>

int main() {
  weft::run([] {
    constexpr std::size_t kSeats = 5;
    std::array<weft::mutex, kSeats> forks;
    weft::barrier all_hold_one(kSeats + 1);
    for (std::size_t seat = 0; seat < kSeats; ++seat)
      weft::go({.name = "philosopher " + std::to_string(seat)}, [&, seat] {
        const std::lock_guard left(forks[seat]);
        all_hold_one.arrive_and_wait();
        const std::lock_guard right(forks[(seat + 1) % kSeats]);
        std::printf("philosopher %zu eats\n", seat);
      });
    all_hold_one.arrive_and_wait();
    std::printf("%zu philosophers hold a fork each\n", kSeats);
    std::fflush(stdout);
    forks[0].lock();  // wait for dinner to end
  });
}
