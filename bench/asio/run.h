// SPDX-License-Identifier: MIT
// How every Boost.Asio program starts: C++20 coroutines on one io_context, run by as many threads as asked for.
#pragma once

#include <thread>
#include <vector>

#include <boost/asio.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "common/bench.h"

namespace asio = boost::asio;
using Task = asio::awaitable<void>;
using asio::use_awaitable;

template <class T>
using Channel = asio::experimental::channel<void(boost::system::error_code, T)>;  // for one thread
template <class T>
using ConcurrentChannel = asio::experimental::concurrent_channel<void(boost::system::error_code, T)>;

// A coroutine that ends by an exception ends the program: its time would be worthless.
inline void check(std::exception_ptr error) {
  if (error) std::rethrow_exception(error);
}

// Waiting for a number of coroutines: the last one sends a message.
class Countdown {
 public:
  Countdown(asio::io_context& context, long count) : left_(count), zero_(context, 1) {}
  void done() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) zero_.try_send(boost::system::error_code(), 0);
  }
  auto wait() { return zero_.async_receive(use_awaitable); }

 private:
  std::atomic<long> left_;
  ConcurrentChannel<int> zero_;
};

template <class Main>
void run(int procs, Main main) {
  asio::io_context context(procs);  // 1: the hint lets Asio leave out locking
  asio::co_spawn(context, main(context), check);
  std::vector<std::thread> workers;
  for (int i = 1; i < procs; ++i) workers.emplace_back([&] { context.run(); });
  context.run();
  for (auto& worker : workers) worker.join();
}

inline asio::awaitable<void> sleep_until(asio::steady_timer& timer, std::chrono::steady_clock::time_point due) {
  timer.expires_at(due);
  co_await timer.async_wait(use_awaitable);
}
