// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <csignal>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "api/start.h"
#include "base/atomic.h"
#include "os/keep_errno.h"
#include "weft/go.h"
#include "weft/io.h"
#include "weft/mutex.h"
#include "weft/net.h"

// Signals as values.
//   Path      The handler writes to a pipe, which is the one thing a handler may do. A goroutine reads the pipe and
//             sends to the channels. It waits in the netpoller, so a program that waits for a signal is no deadlock. It
//             lives while there is a channel.
//   Handlers  Installed for a number with its first channel. The handler that was there before comes back with the end
//             of the last channel.
namespace weft::io {
namespace {

constexpr int kSignals = 65;
constexpr std::size_t kWaitingSignals = 64;

struct Subscription {
  chan<int> channel;
  std::vector<int> numbers;
};

struct Hub {
  mutex lock;
  std::vector<Subscription> subscriptions;
  std::array<int, kSignals> users{};
  std::array<struct sigaction, kSignals> before{};
  int pipe_out = -1;              // both ends stay open for good: a handler may be using the other one
  std::shared_ptr<net::conn> in;  // shared with the reading goroutine
};

Hub& hub() {
  static auto* one = new Hub;  // never destroyed: signals come until the very end
  return *one;
}
base::Atom<int> pipe_in{-1};

void on_signal(int number) {
  const os::KeepErrno keep;
  const auto byte = static_cast<unsigned char>(number);
  // If the pipe is full, so many signals wait that one more is no news.
  const ssize_t ignored = write(pipe_in.load_relaxed(), &byte, 1);
  static_cast<void>(ignored);
}

// The user may have closed the channel instead of calling stop_signals(): nobody waits for signals there any more.
void send_unless_closed(const chan<int>& channel, int number) {
  try {
    channel.try_send(int{number});
  } catch (const logic_error&) {
  }
}

void deliver(int number) {
  Hub& all = hub();
  std::lock_guard guard(all.lock);
  for (Subscription& each : all.subscriptions)
    for (const int wanted : each.numbers)
      if (wanted == number) send_unless_closed(each.channel, number);
}

void read_signals(net::conn& in) {
  std::array<std::byte, 64> numbers;
  std::error_code error;
  for (;;) {
    const std::size_t size = in.read(numbers, error);
    if (error || size == 0) return;
    for (std::size_t i = 0; i < size; ++i) deliver(static_cast<int>(numbers[i]));
  }
}

void start_reading(Hub& all) {
  if (all.pipe_out < 0) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
      throw std::system_error({errno, std::system_category()}, "weft: signals: pipe2");
    all.pipe_out = ends[0];
    pipe_in.store_relaxed(ends[1]);
  }
  auto in = std::make_shared<net::conn>(net::conn::from_fd(all.pipe_out));
  all.in = in;
  go({.name = "weft signals"}, [in] { read_signals(*in); });
}

}  // namespace

chan<int> signals(std::initializer_list<int> numbers) {
  api::ensure_started();
  for (const int number : numbers)
    if (number <= 0 || number >= kSignals || number == SIGKILL || number == SIGSTOP)
      throw std::invalid_argument("weft: signals: " + std::to_string(number) + " cannot be received");
  Hub& all = hub();
  std::lock_guard guard(all.lock);
  if (all.subscriptions.empty()) start_reading(all);
  Subscription made{chan<int>(kWaitingSignals), numbers};
  for (const int number : numbers)
    if (all.users[static_cast<std::size_t>(number)]++ == 0) {
      struct sigaction action{};
      action.sa_handler = on_signal;
      action.sa_flags = SA_RESTART | SA_ONSTACK;
      sigfillset(&action.sa_mask);
      sigaction(number, &action, &all.before[static_cast<std::size_t>(number)]);
    }
  all.subscriptions.push_back(made);
  return made.channel;
}

void stop_signals(const chan<int>& channel) {
  Hub& all = hub();
  std::lock_guard guard(all.lock);
  for (auto each = all.subscriptions.begin(); each != all.subscriptions.end(); ++each) {
    if (!(each->channel == channel)) continue;
    for (const int number : each->numbers)
      if (--all.users[static_cast<std::size_t>(number)] == 0)
        sigaction(number, &all.before[static_cast<std::size_t>(number)], nullptr);
    all.subscriptions.erase(each);
    if (!channel.closed()) channel.close();
    if (all.subscriptions.empty()) all.in->release();
    return;
  }
}

}  // namespace weft::io
