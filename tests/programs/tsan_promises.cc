// SPDX-License-Identifier: MIT
// TSan knows of every order that the API promises: nothing of this is reported.
// test-labels: tsan
// check: run TSAN_OPTIONS=halt_on_error=0:exitcode=0 WEFT_MAXPROCS=1
// check: stdout ^0 of [0-9]+ wrong$
// check: within 60
// check: run TSAN_OPTIONS=halt_on_error=0:exitcode=0 WEFT_MAXPROCS=2
// check: stdout ^0 of [0-9]+ wrong$
// check: within 60
// check: run TSAN_OPTIONS=halt_on_error=0:exitcode=0 WEFT_MAXPROCS=2 WEFT_POLICY=global
// check: stdout ^0 of [0-9]+ wrong$
// check: within 60
// check: run TSAN_OPTIONS=halt_on_error=0:exitcode=0 WEFT_MAXPROCS=2 WEFT_DEBUG=leases=always
// check: stdout ^0 of [0-9]+ wrong$
// check: within 60
#include <unistd.h>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include "support/tsan_cases.h"

using namespace std::chrono_literals;

namespace {

using weft::chan;
using weft::go;
using weft::wait_group;
using weft::test::Cell;
using weft::test::increment;
using weft::test::read;
using weft::test::Signpost;
using weft::test::TsanCase;
using weft::test::write;

constexpr int kMany = 8, kTurns = 20;

// Many goroutines increment under `lock`, with and without waiting for it.
template <class Lock, class Unlock>
void contend(Cell& cell, Lock lock, Unlock unlock) {
  wait_group group;
  for (int i = 0; i < kMany; ++i)
    group.go([&] {
      for (int turn = 0; turn < kTurns; ++turn) {
        lock();
        increment(cell);
        if (turn % 3 == 0) weft::this_goroutine::yield();
        increment(cell);
        unlock();
      }
    });
  group.wait();
  increment(cell);
}
template <class Mutex>
void contend_for_mutex(Cell& cell) {
  Mutex mutex;
  contend(cell, [&] { mutex.lock(); }, [&] { mutex.unlock(); });
}

void start_and_join(Cell& cell) {
  write(cell);
  auto task = weft::spawn([&] {
    increment(cell);
    return std::string("a result that is kept on the heap");
  });
  if (task.join().empty()) std::abort();
  increment(cell);
  auto failing = weft::spawn([&] {
    increment(cell);
    if (cell.value > 0) throw std::runtime_error("for who joins");
  });
  while (!failing.ready()) weft::this_goroutine::yield();
  increment(cell);
  try {
    failing.join();
  } catch (const std::runtime_error&) {
  }
}

void big_and_changing_closures(Cell& cell) {
  for (int i = 0; i < 4 * kMany; ++i) {  // in records and on stacks that others have had
    wait_group group;
    group.go([&cell, numbers = std::array<int, 32>{}]() mutable { numbers[3] = ++numbers[5] + read(cell); });
    group.go([number = 1]() mutable { *const_cast<volatile int*>(&number) = 2; });
    group.go([] {
      int local[64] = {};
      for (int& number : local) *const_cast<volatile int*>(&number) = 1;
    });
    weft::spawn([number = i]() mutable { return ++number; }).detach();
    group.wait();
  }
}

void group_of_goroutines(Cell& cell) {
  weft::group group;
  group.limit(2);
  write(cell);
  Cell own[kMany];
  for (Cell& each : own)
    group.go([&] {
      read(cell);
      increment(each);
    });
  group.wait();
  increment(cell);
  for (Cell& each : own) increment(each);
}

void meeting(Cell& cell) {
  chan<int> channel;
  wait_group group;
  group.go([&] {
    for (int turn = 0; turn < kTurns; ++turn) {
      increment(cell);
      channel.send(turn);
      channel.recv();
      increment(cell);
    }
  });
  for (int turn = 0; turn < kTurns; ++turn) {
    channel.recv();
    increment(cell);
    channel.send(turn);
  }
  group.wait();
  increment(cell);
}

void receive_before_the_send_ends(Cell& cell) {
  chan<int> channel;
  wait_group group;
  group.go([&] {
    write(cell);
    channel.recv();
  });
  channel.send(1);
  write(cell);
  group.wait();
}

void send_before_receive(Cell&) {
  chan<std::unique_ptr<Cell>> channel(3);
  wait_group group;
  for (int i = 0; i < 3; ++i)
    group.go([&] {
      for (int turn = 0; turn < kTurns; ++turn) {
        auto made = std::make_unique<Cell>();
        write(*made);
        channel.send(std::move(made));
      }
    });
  for (int i = 0; i < 2; ++i)
    group.go([&] {
      for (int turn = 0; turn < 3 * kTurns / 2; ++turn) increment(**channel.recv());
    });
  group.wait();
}

template <class T>
void pass_through(std::size_t capacity, T value) {
  chan<T> channel(capacity);
  wait_group group;
  group.go([&] {
    for (int turn = 0; turn < kTurns; ++turn) channel.send(T(value));
    channel.close();
  });
  group.go([&] {
    for (T& element : channel) element = value;
  });
  for (const T& element : channel)
    if (element != value) std::abort();
  group.wait();
}
void elements_of_all_kinds(Cell&) {
  for (const std::size_t capacity : {0u, 1u, 4u}) {
    pass_through<std::string>(capacity, "long enough to be kept on the heap");
    pass_through<std::list<int>>(capacity, {1, 2, 3});
    pass_through<std::array<int, 100>>(capacity, {});
    pass_through<char>(capacity, 'x');
    pass_through<std::shared_ptr<int>>(capacity, std::make_shared<int>(1));
  }
}

void full_channel_as_lock(Cell& cell) {
  chan<std::monostate> channel(1);
  contend(cell, [&] { channel.send({}); }, [&] { channel.recv(); });
}
void token_in_a_channel_as_lock(Cell& cell) {
  chan<int> channel(1);
  channel.send(1);
  contend(cell, [&] { channel.recv(); }, [&] { channel.send(1); });
}
void token_without_a_buffer_as_lock(Cell& cell) {
  chan<int> channel;
  go([&] { channel.send(1); });
  contend(cell, [&] { channel.recv(); }, [&] { go([channel]() mutable { channel.send(1); }); });
  channel.recv();
}
void selected_token_as_lock(Cell& cell) {
  chan<int> channel(1), never;
  channel.send(1);
  contend(
      cell, [&] { weft::select(weft::on_recv(channel), weft::on_recv(never)); },
      [&] { weft::select(weft::on_send(never, 1), weft::on_send(channel, 1)); });
}
void limited_token_as_lock(Cell& cell) {
  chan<std::string> channel(1);
  channel.send("the token");
  contend(
      cell,
      [&] {
        while (channel.recv_for(1ms).status != weft::chan_status::received) {
        }
      },
      [&] { channel.send("the token"); });
}

void close_before_receive(Cell& cell) {
  for (const std::size_t capacity : {0u, 2u}) {
    chan<int> channel(capacity);
    wait_group group;
    group.go([&] {
      channel.recv();
      read(cell);
    });
    group.go([&] {
      weft::select(weft::on_recv(channel));
      read(cell);
    });
    group.go([&] {
      while (!channel.closed()) weft::this_goroutine::yield();
      read(cell);
    });
    for (int turn = 0; turn < 10; ++turn) weft::this_goroutine::yield();
    increment(cell);
    channel.close();
    group.wait();
    increment(cell);
  }
}

void readers_and_writers(Cell& cell) {
  weft::shared_mutex mutex;
  wait_group group;
  for (int i = 0; i < kMany; ++i)
    group.go([&] {
      for (int turn = 0; turn < kTurns; ++turn) {
        if (turn % 4 == 0) {
          const std::unique_lock guard(mutex);
          increment(cell);
          weft::this_goroutine::yield();
        } else {
          const std::shared_lock guard(mutex);
          read(cell);
          weft::this_goroutine::yield();
        }
      }
    });
  group.wait();
}

void limited_mutex(Cell& cell) {
  weft::timed_mutex mutex;
  contend(
      cell,
      [&] {
        while (!mutex.try_lock_for(1ms)) {
        }
      },
      [&] { mutex.unlock(); });
}

template <class Condition>
void notified(Cell& cell) {
  weft::mutex mutex;
  Condition condition;
  bool full = false;
  wait_group group;
  group.go([&] {
    for (int turn = 0; turn < kTurns; ++turn) {
      std::unique_lock lock(mutex);
      condition.wait(lock, [&] { return full; });
      increment(cell);
      full = false;
      condition.notify_one();
    }
  });
  for (int turn = 0; turn < kTurns; ++turn) {
    std::unique_lock lock(mutex);
    condition.wait(lock, [&] { return !full; });
    increment(cell);
    full = true;
    lock.unlock();
    condition.notify_all();
  }
  group.wait();
}

void semaphore(Cell& cell) {
  weft::binary_semaphore semaphore(1);
  contend(cell, [&] { semaphore.acquire(); }, [&] { semaphore.release(); });
}

void latch(Cell& cell) {
  weft::latch latch(kMany);
  Cell own[kMany];
  for (Cell& each : own)
    go([&] {
      write(each);
      latch.count_down();
    });
  latch.wait();
  for (Cell& each : own) increment(each);
  increment(cell);
}

void barrier_with_completion(Cell& cell) {
  weft::barrier barrier(kMany, [&]() noexcept { increment(cell); });
  wait_group group;
  for (int i = 0; i < kMany; ++i)
    group.go([&, i] {
      for (int turn = 0; turn < kTurns; ++turn) {
        read(cell);
        barrier.arrive_and_wait();
        if (turn % kMany == i) increment(cell);
        barrier.arrive_and_wait();
      }
    });
  group.wait();
}

void once(Cell& cell) {
  weft::once_flag flag;
  int calls = 0;
  wait_group group;
  for (int i = 0; i < kMany; ++i)
    group.go([&] {
      try {
        weft::call_once(flag, [&] {
          increment(cell);
          weft::this_goroutine::yield();
          if (++calls < 3) throw std::runtime_error("not yet");
          increment(cell);
        });
      } catch (const std::runtime_error&) {
        return;
      }
      read(cell);
    });
  group.wait();
}

void promise(Cell& cell) {
  for (int turn = 0; turn < kTurns; ++turn) {
    weft::promise<std::string> promise;
    auto future = promise.get_future();
    go([&cell, promise = std::move(promise)]() mutable {
      increment(cell);
      promise.set_value("long enough to be kept on the heap");
    });
    if (turn % 2 == 0) weft::this_goroutine::yield();
    if (future.get().empty()) std::abort();
    increment(cell);
  }
}

void event(Cell& cell) {
  weft::event event;
  go([&] {
    write(cell);
    event.set();
  });
  event.wait();
  write(cell);
}

void single_flight(Cell& cell) {
  weft::single_flight<int, std::string> calls;
  wait_group group;
  for (int i = 0; i < kMany; ++i)
    group.go([&] {
      calls.run(1, [&] {
        weft::this_goroutine::yield();
        return std::string("long enough to be kept on the heap");
      });
    });
  group.wait();
  read(cell);
}

// A value that nobody has received, or that another has seen before, may end with the next one or with a receiver.
template <class Sender, class Subscribe, class Receive>
void many_send(Sender sender, Subscribe subscribe, Receive receive) {
  wait_group senders, receivers;
  for (int i = 0; i < 2; ++i) {
    receivers.go([&, receiver = subscribe(sender)]() mutable {
      for (int turn = 0; turn < kTurns; ++turn) receive(receiver);
    });
  }
  for (int i = 0; i < kMany; ++i)
    senders.go([&] {
      for (int turn = 0; turn < kTurns; ++turn) {
        sender.send(std::make_unique<std::string>("long enough to be kept on the heap"));
        if (turn % 4 == 0) weft::this_goroutine::yield();
      }
    });
  senders.wait();
  sender.close();
  receivers.wait();
}
void broadcast_values(Cell& cell) {
  using Sender = weft::broadcast<std::unique_ptr<std::string>>;
  many_send(
      Sender(4), [](const Sender& sender) { return sender.subscribe(); },
      [](Sender::receiver& receiver) {
        if (const auto got = receiver.recv(); got && (*got)->empty()) std::abort();
      });
  // Those that a receiver leaves behind.
  const Sender sender(kMany);
  std::optional<Sender::receiver> lazy = sender.subscribe();
  Signpost sent;
  wait_group group;
  group.go([&] {
    sender.send(std::make_unique<std::string>("long enough to be kept on the heap"));
    sent.pass();
  });
  sent.wait();
  lazy.reset();
  group.wait();
  read(cell);
}
void watched_values(Cell&) {
  using Sender = weft::watch<std::unique_ptr<std::string>>;
  many_send(
      Sender(std::make_unique<std::string>("first")), [](const Sender& sender) { return sender.subscribe(); },
      [](auto& receiver) {
        receiver.changed();
        if ((*receiver.borrow())->empty()) std::abort();
      });
}

void pooled(Cell&) {
  weft::pool<std::unique_ptr<Cell>> pool([] { return std::make_unique<Cell>(); });
  wait_group group;
  for (int i = 0; i < kMany; ++i)
    group.go([&] {
      for (int turn = 0; turn < kTurns; ++turn) {
        auto taken = pool.get();
        increment(*taken);
        weft::this_goroutine::yield();
        pool.put(std::move(taken));
      }
    });
  group.wait();
}

weft::goroutine_local<std::string> inherited{weft::inherit::copy};
void inherited_locals(Cell&) {
  *inherited = "long enough to be kept on the heap";
  wait_group group;
  for (int i = 0; i < kMany; ++i)
    group.go([] {
      *inherited += "x";
      weft::this_goroutine::yield();
      *inherited += "y";
    });
  *inherited += "z";
  group.wait();
  inherited->clear();
}

void function_timer(Cell& cell) {
  Cell later;
  write(cell);
  weft::latch done(3);
  const auto fired = [&cell, &done, text = std::string("long enough to be kept on the heap")] {
    if (text.empty() || read(cell) == 0) std::abort();
    done.count_down();
  };
  const weft::timer plain = weft::after_func(1ms, fired);
  weft::after_func(1ms, fired);  // its own from now on
  weft::timer again = weft::after_func(1h, [&] {
    read(later);
    fired();
  });
  again.stop();
  write(later);
  again.reset(1ms);
  done.wait();
}

void timer_channel(Cell& cell) {
  write(cell);
  chan<weft::time_point> due = weft::after(1ms);
  wait_group group;
  group.go([&] {
    due.recv();
    read(cell);
  });
  group.wait();
}

void cancelled_context(Cell& cell) {
  auto [context, cancel] = weft::with_cancel(weft::context::background());
  const weft::context watched = weft::with_value(context, std::string("long enough to be kept on the heap"));
  wait_group group;
  group.go([&] {
    watched.done().recv();
    read(cell);
  });
  group.go([&] {
    while (!watched.cancelled()) weft::this_goroutine::yield();
    read(cell);
  });
  group.go([&] {
    while (!watched.err()) weft::this_goroutine::yield();
    read(cell);
  });
  group.go([&, token = watched.stop_token()] {
    while (!token.stop_requested()) weft::this_goroutine::yield();
    read(cell);
  });
  weft::latch called(1);
  weft::after_func(watched, [&, text = std::string("long enough to be kept on the heap")] {
    if (text.empty()) std::abort();
    read(cell);
    called.count_down();
  });
  write(cell);
  cancel();
  called.wait();
  group.wait();
  write(cell);
}

// Who drops the last handle of a stop source comes after all that contexts have done with it.
void last_handle_of_a_stop(Cell& cell) {
  wait_group group;
  Signpost cancelled[kTurns], stoppable[kTurns];
  for (Signpost& dropped : cancelled) {
    std::stop_token token;
    {
      auto [context, cancel] = weft::with_cancel(weft::context::background());
      token = context.stop_token();
      group.go([&dropped, held = std::make_optional(cancel)]() mutable {
        (*held)();
        held.reset();
        dropped.pass();
      });
    }
    dropped.wait();
  }
  for (Signpost& dropped : stoppable) {
    const std::stop_source source, other;
    const std::stop_callback users(other.get_token(), [] {});  // what the library uses of it is the instrumented code
    group.go([&dropped, token = source.get_token()]() mutable {
      weft::with_stop_token(weft::context::background(), std::move(token));
      dropped.pass();
    });
    dropped.wait();
  }
  group.wait();
  read(cell);
}

// What has ended, has left its P or has not begun stands still as well as what was switched away from. The stopper may be
// a plain thread, which comes after those before it.
void everything_in_a_stopped_world(Cell& cell) {
  std::atomic<bool> stop{false};
  Cell own[3], ended;
  Signpost ends[5 * kTurns];
  wait_group group;
  for (Cell& each : own)
    group.go([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        read(cell);
        increment(each);
        if (&each == own) weft::blocking([] { usleep(20); });
        weft::this_goroutine::yield();
      }
    });
  const auto look = [&] {
    increment(cell);
    increment(ended);
    for (Cell& each : own) increment(each);
  };
  std::thread thread([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      weft::runtime::stop_the_world(look);
      usleep(200);
    }
  });
  for (Signpost& end : ends) {
    group.go([&] {
      read(ended);
      end.pass();
    });
    end.wait();
    for (int i = 0; i < 3; ++i) group.go([&] { read(cell); });
    weft::runtime::stop_the_world(look);
    weft::this_goroutine::yield();
  }
  stop.store(true, std::memory_order_relaxed);
  group.wait();
  weft::blocking([&] { thread.join(); });
}

void stopped_world(Cell& cell) {
  wait_group group;
  for (int i = 0; i < 3; ++i)
    group.go([&] {
      for (int turn = 0; turn < kTurns; ++turn) {
        weft::runtime::stop_the_world([&] { increment(cell); });
        weft::this_goroutine::yield();
      }
    });
  group.wait();
}

void plain_threads(Cell& cell) {
  weft::mutex mutex;
  chan<std::unique_ptr<Cell>> channel(1);
  std::thread sender([&] {
    for (int turn = 0; turn < kTurns; ++turn) {
      auto made = std::make_unique<Cell>();
      write(*made);
      channel.send(std::move(made));
      const std::lock_guard guard(mutex);
      increment(cell);
    }
    channel.close();
  });
  std::thread runner([&] {
    weft::run([&] {
      const std::lock_guard guard(mutex);
      increment(cell);
    });
    const std::lock_guard guard(mutex);
    increment(cell);
  });
  for (auto& made : channel) {
    increment(*made);
    const std::lock_guard guard(mutex);
    increment(cell);
  }
  weft::blocking([&] {
    sender.join();
    runner.join();
  });
  increment(cell);
}

thread_local Cell of_the_thread;
void thread_locals(Cell&) {  // of a thread that has run several goroutines
  wait_group group;
  for (int i = 0; i < kMany; ++i)
    group.go([] {
      for (int turn = 0; turn < kTurns; ++turn) {
        increment(of_the_thread);
        weft::this_goroutine::yield();
      }
    });
  group.wait();
}

// At the exit goroutines stand still before static objects are destroyed.
struct Destroyed {
  Cell cell;
  ~Destroyed() {
    weft::test::tsan_reports.store(0);
    increment(cell);
    if (weft::test::tsan_reports.load() == 0) return;
    std::puts("exit: reported, although it is ordered");
    std::fflush(stdout);
    _exit(1);
  }
} destroyed;

constexpr TsanCase kPromises[] = {
    {"start and join", start_and_join},
    {"closures", big_and_changing_closures},
    {"group", group_of_goroutines},
    {"meeting", meeting},
    {"a receive before the end of its send", receive_before_the_send_ends},
    {"a send before its receive", send_before_receive},
    {"elements of all kinds", elements_of_all_kinds},
    {"a full channel as a lock", full_channel_as_lock},
    {"a token in a channel as a lock", token_in_a_channel_as_lock},
    {"a token without a buffer as a lock", token_without_a_buffer_as_lock},
    {"a selected token as a lock", selected_token_as_lock},
    {"a token with a time limit as a lock", limited_token_as_lock},
    {"a close before its receive", close_before_receive},
    {"mutex", contend_for_mutex<weft::mutex>},
    {"recursive_mutex", contend_for_mutex<weft::recursive_mutex>},
    {"shared_mutex, locked alone", contend_for_mutex<weft::shared_mutex>},
    {"timed_mutex", limited_mutex},
    {"readers and writers", readers_and_writers},
    {"condition_variable", notified<weft::condition_variable>},
    {"condition_variable_any", notified<weft::condition_variable_any>},
    {"semaphore", semaphore},
    {"latch", latch},
    {"barrier", barrier_with_completion},
    {"call_once", once},
    {"promise", promise},
    {"event", event},
    {"single_flight", single_flight},
    {"broadcast", broadcast_values},
    {"watch", watched_values},
    {"pool", pooled},
    {"inherited locals", inherited_locals},
    {"function timer", function_timer},
    {"timer channel", timer_channel},
    {"context", cancelled_context},
    {"the last handle of a stop", last_handle_of_a_stop},
    {"stop_the_world", stopped_world},
    {"everything in a stopped world", everything_in_a_stopped_world},
    {"plain threads", plain_threads},
    {"thread_local", thread_locals},
};

}  // namespace

int main(int count, char** arguments) {
  return weft::run([&] {
    const int status = weft::test::run_tsan_cases(kPromises, false, count > 1 ? arguments[1] : nullptr);
    Signpost runs;
    go([&runs] {
      increment(destroyed.cell);
      runs.pass();
      for (;;) {
        increment(destroyed.cell);
        weft::this_goroutine::yield();
      }
    });
    runs.wait();
    return status;
  });
}
