// The dining philosophers: five of them, five forks, and a bowl of spaghetti that takes two forks to eat from. Philosophers,
// forks and the room are processes. If all five took their left fork at once they would starve (deadlock.cpp lets them), so
// the room admits four at a time; then one of those inside can always have both.
// Hoare, Communicating Sequential Processes (1978), section 5.3; the footman at the door is his exercise for the reader.
#include <weft/chan.h>
#include <weft/go.h>
#include <weft/select.h>
#include <weft/wait_group.h>
#include <array>
#include <atomic>
#include <cstdio>
#include <optional>
#include <variant>

namespace {

constexpr std::size_t kSeats = 5;
constexpr int kMeals = 100;

using signal = std::monostate;

struct fork_channels {
  weft::chan<signal> pick_up, put_down;
};
struct room_channels {
  weft::chan<signal> enter, leave;
};

// In one hand at a time: who has picked it up puts it down before the next can have it.
void be_fork(fork_channels fork) {
  while (fork.pick_up.recv()) fork.put_down.recv();
}

void be_room(room_channels room) {
  std::size_t guests = 0;
  bool open = true;
  while (open)
    weft::select(weft::on_recv(guests < kSeats - 1 ? room.enter : weft::chan<signal>::nil(),
                               [&](std::optional<signal> guest) {
                                 if (guest)
                                   ++guests;
                                 else
                                   open = false;
                               }),
                 weft::on_recv(room.leave, [&](std::optional<signal>) { --guests; }));
}

struct table {
  room_channels room;
  std::array<fork_channels, kSeats> forks;
  std::array<std::atomic<int>, kSeats> meals{};
  std::array<std::atomic<bool>, kSeats> eating{};
  std::atomic<int> quarrels{0};
};

void be_philosopher(table& table, std::size_t seat) {
  const std::size_t left = (seat + kSeats - 1) % kSeats, right = (seat + 1) % kSeats;
  while (table.meals[seat] < kMeals) {
    table.room.enter.send({});
    table.forks[seat].pick_up.send({});
    table.forks[right].pick_up.send({});
    table.eating[seat] = true;
    if (table.eating[left] || table.eating[right]) ++table.quarrels;  // they share a fork with us
    weft::this_goroutine::yield();
    ++table.meals[seat];
    table.eating[seat] = false;
    table.forks[seat].put_down.send({});
    table.forks[right].put_down.send({});
    table.room.leave.send({});
  }
}

}  // namespace

int main() {
  weft::run([] {
    table table;
    weft::go(be_room, table.room);
    for (const auto& fork : table.forks) weft::go(be_fork, fork);
    weft::wait_group philosophers;
    for (std::size_t seat = 0; seat < kSeats; ++seat) philosophers.go([&, seat] { be_philosopher(table, seat); });
    philosophers.wait();
    for (auto& fork : table.forks) fork.pick_up.close();
    table.room.enter.close();
    for (std::size_t seat = 0; seat < kSeats; ++seat)
      std::printf("philosopher %zu ate %d times\n", seat, table.meals[seat].load());
    std::printf("%d quarrels over a fork\n", table.quarrels.load());
  });
}
