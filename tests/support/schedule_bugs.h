// SPDX-License-Identifier: MIT
#pragma once
#include <weft/testing.h>
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

// Small programs with known bugs, after the kinds of GoKer, SCTBench and CHESS, and repaired twins of some of them. Each fails
// by an exception, a deadlock or a goroutine that is left over, in some schedules or in all.
namespace weft::test::bugs {

using namespace std::chrono_literals;
namespace wt = weft::testing;

inline void require(bool holds, const char* text) {
  if (!holds) wt::fail(text);
}
// Functions of their own, so that a check stands before each access.
template <class T>
__attribute__((noinline)) T load(const T& from) {
  return from;
}
template <class T>
__attribute__((noinline)) void store(T& to, T value) {
  to = value;
}
template <class... F>
void together(F&&... parts) {
  std::vector<weft::task<void>> tasks;
  (tasks.push_back(weft::spawn(std::forward<F>(parts))), ...);
  for (auto& one : tasks) one.join();
}

// --- as in GoKer: channels, locks, contexts of servers ---

inline void lock_twice() {
  weft::mutex state;
  const auto inner = [&] { std::lock_guard hold(state); };
  std::lock_guard hold(state);
  inner();
}
inline void opposite_orders() {
  weft::mutex from, to;
  together(
      [&] {
        std::lock_guard one(from);
        std::lock_guard two(to);
      },
      [&] {
        std::lock_guard two(to);
        std::lock_guard one(from);
      });
}
inline void send_under_lock() {
  weft::mutex state;
  weft::chan<int> events;
  together(
      [&] {
        std::lock_guard hold(state);
        events.send(1);
      },
      [&] {
        {
          std::lock_guard hold(state);
        }
        events.recv();
      });
}
inline void early_return_keeps_lock() {
  weft::mutex state;
  bool stopped = false;
  const auto work = [&] {
    state.lock();
    if (stopped) return;
    state.unlock();
  };
  together(work, work, [&] {
    state.lock();
    stopped = true;
    state.unlock();
  });
}
inline void reader_twice_beside_writer() {
  weft::shared_mutex state;
  together(
      [&] {
        std::shared_lock outer(state);
        std::shared_lock inner(state);
      },
      [&] { std::lock_guard write(state); });
}
inline void result_after_timeout() {
  weft::chan<int> result;
  weft::go([result]() mutable {
    weft::this_goroutine::sleep_for(2s);
    result.send(1);
  });
  weft::select(weft::on_recv(result), weft::on_timeout(1s));
}
inline void value_lost_to_stop() {
  weft::chan<int> data;
  weft::chan<std::monostate> stop;
  weft::go([data]() mutable { data.send(1); });
  weft::go([stop]() mutable { stop.close(); });
  weft::select(weft::on_recv(data), weft::on_recv(stop));
}
inline void closed_twice() {
  weft::chan<int> done;
  const auto finish = [&] {
    if (!done.closed()) {
      weft::this_goroutine::yield();
      done.close();
    }
  };
  together(finish, finish);
}
inline void send_after_close() {
  weft::chan<int> values(4);
  together(
      [&] {
        values.send(1);
        values.send(2);
      },
      [&] {
        values.recv();
        values.close();
      });
}
inline void add_inside_goroutine() {
  weft::wait_group group;
  int done = 0;
  weft::go([&, done_flag = &done] {
    group.add();
    *done_flag = 1;
    group.done();
  });
  group.wait();
  const bool finished = done == 1;
  weft::this_goroutine::sleep_for(1ms);  // so that the goroutine finds its variables
  require(finished, "wait() returned before the work was done");
}
inline void notified_too_early() {
  weft::mutex state;
  weft::condition_variable changed;
  together(
      [&] {
        std::unique_lock hold(state);
        changed.wait(hold);
      },
      [&] {
        std::lock_guard hold(state);
        changed.notify_one();
      });
}
inline void notifies_the_wrong_one() {
  weft::mutex state;
  weft::condition_variable changed;
  bool first = false, second = false;
  together(
      [&] {
        std::unique_lock hold(state);
        while (!first) changed.wait(hold);
      },
      [&] {
        std::unique_lock hold(state);
        while (!second) changed.wait(hold);
      },
      [&] {
        {
          std::lock_guard hold(state);
          first = true;
        }
        changed.notify_one();
        {
          std::lock_guard hold(state);
          second = true;
        }
        changed.notify_one();
      });
}
inline void jobs_after_quit() {
  weft::chan<int> jobs;
  weft::chan<std::monostate> quit;
  weft::go([=]() mutable {
    for (bool goes_on = true; goes_on;)
      weft::select(weft::on_recv(jobs), weft::on_recv(quit, [&](auto) { goes_on = false; }));
  });
  weft::go([=]() mutable {
    jobs.send(1);
    jobs.send(2);
  });
  quit.close();
}
inline void result_after_cancel() {
  auto [ctx, cancel] = weft::with_cancel(weft::context::background());
  weft::chan<int> result;
  weft::go([=]() mutable { result.send(1); });
  weft::go([cancel = cancel] { cancel(); });
  weft::select(weft::on_recv(result), weft::on_recv(ctx.done()));
}
inline void both_send_first() {
  weft::chan<int> there, back;
  together(
      [&] {
        there.send(1);
        back.recv();
      },
      [&] {
        back.send(1);
        there.recv();
      });
}
inline void wait_under_lock() {
  weft::mutex state;
  weft::wait_group group;
  group.go([&] { std::lock_guard hold(state); });
  std::lock_guard hold(state);
  group.wait();
}
inline void permit_not_returned() {
  weft::semaphore permits(1);
  bool failing = false;
  const auto work = [&] {
    permits.acquire();
    if (failing) return;
    permits.release();
  };
  together(work, [&] { failing = true; }, work, work);
}
inline void flag_outside_lock() {
  weft::mutex state;
  weft::condition_variable changed;
  bool ready = false;
  together(
      [&] {
        if (!load(ready)) {
          std::unique_lock hold(state);
          changed.wait(hold);
        }
      },
      [&] {
        store(ready, true);
        std::lock_guard hold(state);
        changed.notify_all();
      });
}
inline void consumer_leaves_first() {
  weft::chan<int> values(1);
  weft::chan<int> out = values;
  weft::go([out]() mutable { out.send(1); });
  weft::go([out]() mutable {
    out.send(2);
    out.send(3);
  });
  values.recv();
}
inline void timer_not_joined() {
  bool open = true, used_closed = false;
  weft::timer timer(1s, [&] {
    weft::this_goroutine::yield();
    used_closed = !open;
  });
  weft::this_goroutine::sleep_for(1s);
  timer.stop();
  open = false;
  weft::this_goroutine::sleep_for(1s);
  require(!used_closed, "the timer's function ran after its owner had closed");
}
inline void stop_before_drain() {
  weft::chan<int> values(2);
  weft::chan<std::monostate> stop;
  int sum = 0;
  together(
      [&] {
        values.send(1);
        values.send(2);
        stop.close();
      },
      [&] {
        for (bool goes_on = true; goes_on;)
          weft::select(weft::on_recv(values, [&](std::optional<int> v) { sum += *v; }),
                       weft::on_recv(stop, [&](auto) { goes_on = false; }));
      });
  require(sum == 3, "values were still in the channel");
}
inline void upgrade_lock() {
  weft::shared_mutex state;
  int value = 0;
  const auto add = [&] {
    state.lock_shared();
    const int seen = value;
    state.unlock_shared();
    std::lock_guard write(state);
    value = seen + 1;
  };
  together(add, add);
  require(value == 2, "an update was lost between the two locks");
}

// --- as in SCTBench and CHESS ---

template <std::size_t N>
void philosophers() {
  std::array<weft::mutex, N> forks;
  weft::wait_group dinner;
  for (std::size_t i = 0; i < N; ++i)
    dinner.go([&, i] {
      std::lock_guard left(forks[i]);
      std::lock_guard right(forks[(i + 1) % N]);
    });
  dinner.wait();
}
inline void check_then_act() {
  weft::mutex state;
  int seats = 1;
  const auto buy = [&] {
    {
      std::lock_guard hold(state);
      if (seats == 0) return;
    }
    std::lock_guard hold(state);
    --seats;
  };
  together(buy, buy);
  require(seats == 0, "one seat was sold twice");
}
inline void account() {
  weft::mutex from_lock, to_lock;
  int from = 100, to = 0, seen = 100;
  together(
      [&] {
        {
          std::lock_guard hold(from_lock);
          from -= 10;
        }
        std::lock_guard hold(to_lock);
        to += 10;
      },
      [&] {
        std::lock_guard one(from_lock);
        std::lock_guard two(to_lock);
        seen = from + to;
      });
  require(seen == 100, "the audit saw money on its way");
}
inline void lost_increment() {
  int counter = 0;
  const auto add = [&] { store(counter, load(counter) + 1); };
  together(add, add);
  require(counter == 2, "an increment was lost");
}
inline void double_checked() {
  bool made = false;
  int value = 0, seen = 1;
  weft::mutex making;
  const auto use = [&] {
    if (!load(made)) {
      std::lock_guard hold(making);
      if (!load(made)) {
        store(made, true);  // before the value
        store(value, 1);
      }
    }
    if (load(value) == 0) seen = 0;
  };
  together(use, use);
  require(seen == 1, "a value was used before it was made");
}
// With `swapped`, the turn is given away before the wish is shown.
inline void peterson(bool swapped) {
  bool wants[2] = {};
  int turn = 0, inside = 0;
  const auto enter = [&](int me) {
    if (swapped) store(turn, 1 - me);
    store(wants[me], true);
    if (!swapped) store(turn, 1 - me);
    while (load(wants[1 - me]) && load(turn) == 1 - me) weft::this_goroutine::yield();
    require(load(inside) == 0, "two inside");
    store(inside, 1);
    store(inside, 0);
    store(wants[me], false);
  };
  together([&] { enter(0); }, [&] { enter(1); });
}
inline void stealing_queue() {
  int items[2] = {1, 2}, head = 0, tail = 2, taken[3] = {};
  const auto pop = [&] {  // the owner takes from the tail without looking for a thief once more
    const int at = load(tail) - 1;
    if (load(head) > at) return;
    store(tail, at);
    ++taken[items[at]];
  };
  const auto steal = [&] {
    const int at = load(head);
    if (at >= load(tail)) return;
    store(head, at + 1);
    ++taken[items[at]];
  };
  together(
      [&] {
        pop();
        pop();
      },
      steal);
  require(taken[1] <= 1 && taken[2] <= 1, "an item was taken twice");
}
inline void reorder() {
  int a = 0, b = 0;
  bool broken = false;
  const auto set = [&] {
    store(a, 1);
    store(b, -1);
  };
  together(set, set, [&] {
    const int x = load(a), y = load(b);
    broken = !((x == 0 && y == 0) || (x == 1 && y == -1));
  });
  require(!broken, "one was set and the other not");
}
inline void lazy() {
  weft::mutex lock;
  int data = 0;
  together(
      [&] {
        std::lock_guard hold(lock);
        data += 1;
      },
      [&] {
        std::lock_guard hold(lock);
        data += 2;
      },
      [&] {
        std::lock_guard hold(lock);
        require(data < 3, "both came first");
      });
}
inline void stateful() {
  weft::mutex one, two;
  int first = 10, second = 10;
  together(
      [&] {
        {
          std::lock_guard hold(one);
          ++first;
        }
        std::lock_guard hold(two);
        ++second;
      },
      [&] {
        {
          std::lock_guard hold(one);
          first += 5;
        }
        std::lock_guard hold(two);
        second -= 6;
      });
  together(
      [&] {
        std::lock_guard hold(one);
        first = second;
      },
      [&] {
        std::lock_guard hold(two);
        second = 0;
      });
  require(first != 0, "read after the reset");
}
inline void two_stages() {
  weft::mutex one, two;
  int first = 0, second = 0;
  together(
      [&] {
        {
          std::lock_guard hold(one);
          first = 1;
        }
        std::lock_guard hold(two);
        second = first + 1;
      },
      [&] {
        int seen;
        {
          std::lock_guard hold(one);
          if (first == 0) return;
          seen = first;
        }
        std::lock_guard hold(two);
        require(second == seen + 1, "the second stage was not done");
      });
}
inline void wrong_lock() {
  weft::mutex one, two;
  int value = 0;
  together(
      [&] {
        std::lock_guard hold(one);
        const int before = load(value);
        store(value, before + 1);
        require(load(value) == before + 1, "changed meanwhile");
      },
      [&] {
        std::lock_guard hold(two);
        store(value, load(value) + 1);
      });
}
inline void if_instead_of_while() {
  weft::mutex lock;
  weft::condition_variable changed;
  int items = 0;
  const auto take = [&] {
    std::unique_lock hold(lock);
    if (items == 0) changed.wait(hold);
    --items;
    require(items >= 0, "taken from an empty queue");
  };
  const auto put = [&] {
    std::lock_guard hold(lock);
    ++items;
    changed.notify_all();
  };
  together(take, take, put, put);
}
inline void token_ring() {
  int x[4] = {};
  weft::mutex lock;
  const auto pass = [&](int from, int to) {
    std::lock_guard hold(lock);
    x[to] = (x[from] + 1) % 4;
  };
  together([&] { pass(3, 0); }, [&] { pass(0, 1); }, [&] { pass(1, 2); }, [&] { pass(2, 3); });
  require(x[3] == 0, "the token came out of order");
}
inline void index_then_write() {
  int slots[2] = {}, next = 0;
  const auto push = [&](int value) {
    const int at = load(next);
    store(slots[at], value);
    store(next, at + 1);
  };
  together([&] { push(1); }, [&] { push(2); });
  require(next == 2, "two were put into one place");
}
inline void phase_missed() {
  int arrived = 0;
  weft::mutex lock;
  weft::condition_variable all;
  const auto meet = [&] {
    std::unique_lock hold(lock);
    if (++arrived == 2) {
      arrived = 0;
      all.notify_all();
    } else {
      while (arrived != 0) all.wait(hold);
    }
  };
  together(
      [&] {
        meet();
        meet();
      },
      [&] {
        meet();
        meet();
      });
}

// --- repaired ---

inline void ordered_locks() {
  weft::mutex from, to;
  const auto transfer = [&] {
    std::lock_guard one(from);
    std::lock_guard two(to);
  };
  together(transfer, transfer);
}
inline void buffered_result() {
  weft::chan<int> result(1);
  weft::go([result]() mutable {
    weft::this_goroutine::sleep_for(2s);
    result.send(1);
  });
  weft::select(weft::on_recv(result), weft::on_timeout(1s));
  weft::this_goroutine::sleep_for(2s);
}
inline void waits_in_a_loop() {
  weft::mutex lock;
  weft::condition_variable changed;
  int items = 0;
  const auto take = [&] {
    std::unique_lock hold(lock);
    changed.wait(hold, [&] { return items > 0; });
    require(--items >= 0, "taken from an empty queue");
  };
  const auto put = [&] {
    std::lock_guard hold(lock);
    ++items;
    changed.notify_all();
  };
  together(take, take, put, put);
}
inline void true_peterson() { peterson(false); }
inline void pipeline() {
  weft::chan<int> numbers, squares(1);
  int sum = 0;
  together(
      [&] {
        for (int i = 1; i <= 3; ++i) numbers.send(i);
        numbers.close();
      },
      [&] {
        for (const int& n : numbers) squares.send(n * n);
        squares.close();
      },
      [&] {
        for (const int& n : squares) sum += n;
      });
  require(sum == 14, "a number was lost");
}
inline void group_of_workers() {
  weft::semaphore permits(2);
  weft::group workers;
  int most = 0, inside = 0;
  for (int i = 0; i < 4; ++i)
    workers.go([&] {
      permits.acquire();
      most = std::max(most, ++inside);
      weft::this_goroutine::sleep_for(1ms);
      --inside;
      permits.release();
    });
  workers.wait();
  require(most <= 2, "too many inside");
}

struct Program {
  const char* name;
  void (*run)();
};
inline constexpr Program wrong[] = {{"lock_twice", lock_twice},
                                    {"opposite_orders", opposite_orders},
                                    {"send_under_lock", send_under_lock},
                                    {"early_return_keeps_lock", early_return_keeps_lock},
                                    {"reader_twice_beside_writer", reader_twice_beside_writer},
                                    {"result_after_timeout", result_after_timeout},
                                    {"value_lost_to_stop", value_lost_to_stop},
                                    {"closed_twice", closed_twice},
                                    {"send_after_close", send_after_close},
                                    {"add_inside_goroutine", add_inside_goroutine},
                                    {"notified_too_early", notified_too_early},
                                    {"notifies_the_wrong_one", notifies_the_wrong_one},
                                    {"jobs_after_quit", jobs_after_quit},
                                    {"result_after_cancel", result_after_cancel},
                                    {"both_send_first", both_send_first},
                                    {"wait_under_lock", wait_under_lock},
                                    {"permit_not_returned", permit_not_returned},
                                    {"flag_outside_lock", flag_outside_lock},
                                    {"consumer_leaves_first", consumer_leaves_first},
                                    {"timer_not_joined", timer_not_joined},
                                    {"stop_before_drain", stop_before_drain},
                                    {"upgrade_lock", upgrade_lock},
                                    {"philosophers_3", philosophers<3>},
                                    {"philosophers_5", philosophers<5>},
                                    {"check_then_act", check_then_act},
                                    {"account", account},
                                    {"lost_increment", lost_increment},
                                    {"double_checked", double_checked},
                                    {"peterson_swapped", [] { peterson(true); }},
                                    {"stealing_queue", stealing_queue},
                                    {"reorder", reorder},
                                    {"lazy", lazy},
                                    {"stateful", stateful},
                                    {"two_stages", two_stages},
                                    {"wrong_lock", wrong_lock},
                                    {"if_instead_of_while", if_instead_of_while},
                                    {"token_ring", token_ring},
                                    {"index_then_write", index_then_write},
                                    {"phase_missed", phase_missed}};
inline constexpr Program right[] = {{"ordered_locks", ordered_locks},
                                    {"buffered_result", buffered_result},
                                    {"waits_in_a_loop", waits_in_a_loop},
                                    {"true_peterson", true_peterson},
                                    {"pipeline", pipeline},
                                    {"group_of_workers", group_of_workers}};

}  // namespace weft::test::bugs
