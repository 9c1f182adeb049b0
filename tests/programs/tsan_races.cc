// SPDX-License-Identifier: MIT
// TSan reports what no promise of the API puts into order, also where the goroutines never ran at the same time.
// test-labels: tsan
// check: run TSAN_OPTIONS=halt_on_error=0:exitcode=0:suppress_equal_stacks=0:suppress_equal_addresses=0 WEFT_MAXPROCS=1
// check: stdout ^0 of [0-9]+ wrong$
// check: within 60
// check: run TSAN_OPTIONS=halt_on_error=0:exitcode=0:suppress_equal_stacks=0:suppress_equal_addresses=0 WEFT_MAXPROCS=2
// check: stdout ^0 of [0-9]+ wrong$
// check: within 60
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

#include "support/tsan_cases.h"

using namespace std::chrono_literals;

namespace {

using weft::chan;
using weft::go;
using weft::wait_group;
using weft::test::Cell;
using weft::test::Signpost;
using weft::test::TsanCase;
using weft::test::write;

// first(), then second() in another goroutine, which knows of the first only by a relaxed flag.
template <class F, class G>
void one_after_the_other(F&& first, G&& second) {
  wait_group group;
  Signpost done;
  group.go([&] {
    first();
    done.pass();
  });
  group.go([&] {
    done.wait();
    second();
  });
  group.wait();
}

void four_write(Cell& cell) {
  wait_group group;
  for (int i = 0; i < 4; ++i) group.go([&] { write(cell); });
  group.wait();
}

void four_tasks_write(Cell& cell) {
  weft::task<void> tasks[4];
  for (auto& task : tasks) task = weft::spawn([&] { write(cell); });
  for (auto& task : tasks) task.join();
}

void spawner_goes_on(Cell& cell) {
  Signpost done;
  go([&] {
    write(cell);
    done.pass();
  });
  done.wait();
  write(cell);
}

void detached(Cell& cell) {
  Signpost done;
  weft::spawn([&] {
    write(cell);
    done.pass();
  }).detach();
  done.wait();
  write(cell);
}

void ended_before_the_next_was_started(Cell& cell) {
  for (int i = 0; i < 2; ++i) {
    Signpost done;
    go([&] {
      write(cell);
      done.pass();
    });
    done.wait();
    for (int turn = 0; turn < 8; ++turn) weft::this_goroutine::yield();  // its stack and record are free
  }
}

void yield(Cell& cell) {
  const auto both = [&] {
    weft::this_goroutine::yield();
    write(cell);
    weft::this_goroutine::yield();
  };
  one_after_the_other(both, both);
}

void sleep(Cell& cell) {
  const auto both = [&] {
    weft::this_goroutine::sleep_for(1ms);
    write(cell);
    weft::this_goroutine::sleep_for(1ms);
  };
  one_after_the_other(both, both);
}

void blocking(Cell& cell) {
  const auto both = [&] {
    weft::blocking([] { std::this_thread::sleep_for(1ms); });
    write(cell);
    weft::blocking([] { std::this_thread::sleep_for(1ms); });
  };
  one_after_the_other(both, both);
}

void two_function_timers(Cell& cell) {
  weft::latch both(2);
  const auto fired = [&] {
    write(cell);
    both.count_down();
  };
  const weft::timer first = weft::after_func(1ms, fired), second = weft::after_func(2ms, fired);
  both.wait();
}

void two_timer_channels(Cell& cell) {
  const auto both = [&] {
    weft::after(1ms).recv();
    write(cell);
    weft::after(1ms).recv();
  };
  one_after_the_other(both, both);
}

void different_channels(Cell& cell) {
  chan<int> first(1), second(1);
  one_after_the_other(
      [&] {
        write(cell);
        first.send(1);
      },
      [&] {
        second.send(1);
        write(cell);
      });
}

void different_mutexes(Cell& cell) {
  weft::mutex first, second;
  one_after_the_other(
      [&] {
        const std::lock_guard guard(first);
        write(cell);
      },
      [&] {
        const std::lock_guard guard(second);
        write(cell);
      });
}

void two_sends_with_room(Cell& cell) {
  chan<int> channel(2);
  one_after_the_other(
      [&] {
        write(cell);
        channel.send(1);
      },
      [&] {
        channel.send(2);
        write(cell);
      });
}

void two_receives_from_a_buffer(Cell& cell) {
  chan<int> channel(2);
  channel.send(1);
  channel.send(2);
  const auto both = [&] {
    channel.recv();
    write(cell);
  };
  one_after_the_other(both, both);
}

void two_strings_from_a_buffer(Cell& cell) {
  chan<std::string> channel(2);
  channel.send("one, long enough for the heap");
  channel.send("two, long enough for the heap");
  const auto both = [&] {
    channel.recv();
    write(cell);
  };
  one_after_the_other(both, both);
}

void receive_before_a_send_with_room(Cell& cell) {
  chan<int> channel(3);
  channel.send(1);
  one_after_the_other(
      [&] {
        write(cell);
        channel.recv();
      },
      [&] {
        channel.send(2);
        write(cell);
      });
}

void receiver_waits_at_a_buffer(Cell& cell) {
  chan<int> channel(2);
  wait_group group;
  Signpost comes;
  group.go([&] {
    write(cell);
    comes.pass();
    channel.recv();
  });
  comes.wait();
  for (int turn = 0; turn < 100; ++turn) weft::this_goroutine::yield();
  channel.send(1);
  write(cell);
  group.wait();
}

void sender_goes_on_after_a_meeting(Cell& cell) {
  chan<int> channel;
  wait_group group;
  group.go([&] {
    channel.send(1);
    write(cell);
  });
  channel.recv();
  write(cell);
  group.wait();
}

void two_receivers_of_a_close(Cell& cell) {
  chan<int> channel;
  wait_group group;
  for (int i = 0; i < 2; ++i)
    group.go([&] {
      channel.recv();
      write(cell);
    });
  channel.close();
  group.wait();
}

void try_receive_in_vain(Cell& cell) {
  chan<int> channel(1);
  one_after_the_other([&] { write(cell); },
                      [&] {
                        static_cast<void>(channel.try_recv());
                        static_cast<void>(channel.size());
                        write(cell);
                      });
}

void try_lock_in_vain(Cell& cell) {
  weft::mutex mutex;
  wait_group group;
  Signpost written, tried;
  group.go([&] {
    const std::lock_guard guard(mutex);
    write(cell);
    written.pass();
    tried.wait();
  });
  written.wait();
  if (mutex.try_lock()) std::abort();
  write(cell);
  tried.pass();
  group.wait();
}

void readers_write(Cell& cell) {
  weft::shared_mutex mutex;
  const auto both = [&] {
    const std::shared_lock guard(mutex);
    write(cell);
  };
  one_after_the_other(both, both);
}

void waiters_of_one_event(Cell& cell) {
  weft::event event;
  wait_group group;
  for (int i = 0; i < 2; ++i)
    group.go([&] {
      event.wait();
      write(cell);
    });
  event.set();
  group.wait();
}

void after_done(Cell& cell) {
  wait_group group;
  Signpost written;
  group.add();
  go([&] {
    group.done();
    write(cell);
    written.pass();
  });
  group.wait();
  write(cell);
  written.wait();
}

void after_count_down(Cell& cell) {
  weft::latch latch(1);
  Signpost written;
  go([&] {
    latch.count_down();
    write(cell);
    written.pass();
  });
  latch.wait();
  write(cell);
  written.wait();
}

void arrivals_of_one_phase(Cell& cell) {
  weft::barrier barrier(2);
  wait_group group;
  for (int i = 0; i < 2; ++i)
    group.go([&] {
      barrier.arrive_and_wait();
      write(cell);
    });
  group.wait();
}

void context_not_cancelled(Cell& cell) {
  auto [context, cancel] = weft::with_cancel(weft::context::background());
  const auto both = [&, &watched = context] {
    static_cast<void>(watched.cancelled());
    write(cell);
    static_cast<void>(watched.err());
  };
  one_after_the_other(both, both);
  cancel();
}

void two_watchers_of_a_context(Cell& cell) {
  auto [context, cancel] = weft::with_cancel(weft::context::background());
  wait_group group;
  for (int i = 0; i < 2; ++i)
    group.go([&, &watched = context] {
      watched.done().recv();
      write(cell);
    });
  cancel();
  group.wait();
}

void selects_of_different_channels(Cell& cell) {
  chan<int> first(1), second(1);
  const auto use = [&](chan<int>& channel) {
    weft::select(weft::on_send(channel, 1), weft::on_default([] {}));
    write(cell);
  };
  one_after_the_other([&] { use(first); }, [&] { use(second); });
}

void plain_thread(Cell& cell) {
  Signpost written;
  std::thread thread([&] {
    write(cell);
    written.pass();
  });
  written.wait();
  write(cell);
  thread.join();
}

void pooled_objects(Cell& cell) {
  weft::pool<int> pool([] { return 0; });
  one_after_the_other(
      [&] {
        pool.put(pool.get());
        write(cell);
      },
      [&] {
        pool.put(pool.get());
        write(cell);
      });
}

constexpr TsanCase kRaces[] = {
    {"four goroutines write", four_write},
    {"four tasks write", four_tasks_write},
    {"a spawner goes on", spawner_goes_on},
    {"a detached task", detached},
    {"ended before the next was started", ended_before_the_next_was_started},
    {"yield", yield},
    {"sleep", sleep},
    {"blocking", blocking},
    {"two function timers", two_function_timers},
    {"two timer channels", two_timer_channels},
    {"different channels", different_channels},
    {"different mutexes", different_mutexes},
    {"two sends with room", two_sends_with_room},
    {"two receives from a buffer", two_receives_from_a_buffer},
    {"two strings from a buffer", two_strings_from_a_buffer},
    {"a receive before a send with room", receive_before_a_send_with_room},
    {"a receiver waits at a buffer", receiver_waits_at_a_buffer},
    {"a sender goes on after a meeting", sender_goes_on_after_a_meeting},
    {"two receivers of a close", two_receivers_of_a_close},
    {"try_recv in vain", try_receive_in_vain},
    {"try_lock in vain", try_lock_in_vain},
    {"readers of a shared_mutex write", readers_write},
    {"waiters of one event", waiters_of_one_event},
    {"after done()", after_done},
    {"after count_down()", after_count_down},
    {"arrivals of one phase", arrivals_of_one_phase},
    {"a context that is not cancelled", context_not_cancelled},
    {"two watchers of a context", two_watchers_of_a_context},
    {"selects of different channels", selects_of_different_channels},
    {"a plain thread", plain_thread},
    {"pooled objects", pooled_objects},
};

}  // namespace

int main(int count, char** arguments) {
  return weft::run([&] { return weft::test::run_tsan_cases(kRaces, true, count > 1 ? arguments[1] : nullptr); });
}
