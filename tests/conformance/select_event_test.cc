// SPDX-License-Identifier: MIT
// Tasks and futures in select, in selectors and in wait_any.
#include <array>
#include <atomic>
#include <future>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/runtime_test.h"

namespace {

using namespace weft::test;
using namespace std::chrono_literals;

class SelectEvent : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(SelectEvent);

// A goroutine that ends when it is told to.
template <class T>
struct Told {
  weft::chan<std::monostate> gate;
  weft::task<T> task;
  explicit Told(T value) {
    task = weft::spawn([its_gate = gate, value = std::move(value)]() mutable {
      its_gate.recv();
      return std::move(value);
    });
  }
  void end() { gate.close(); }
};

TEST_P(SelectEvent, the_end_of_a_task_runs_its_case_with_its_value) {
  weft::run([] {
    weft::task<int> ended = weft::spawn([] { return 42; });
    weft::chan<int> silent;
    int got = 0;
    const std::size_t index =
        weft::select(weft::on_recv(silent), weft::on_join(ended, [&](int value) { got = value; }));
    EXPECT_EQ(index, 1u);
    EXPECT_EQ(got, 42);
    EXPECT_FALSE(ended.joinable());
  });
}

TEST_P(SelectEvent, a_select_that_waits_is_woken_by_the_task) {
  weft::run([] {
    Told<std::unique_ptr<int>> told(std::make_unique<int>(7));
    weft::chan<int> silent;
    std::unique_ptr<int> got;
    weft::task<std::size_t> waiting = weft::spawn([&] {
      return weft::select(weft::on_join(told.task, [&](std::unique_ptr<int> value) { got = std::move(value); }),
                          weft::on_recv(silent));
    });
    EXPECT_FALSE(waiting.wait_for(2ms));
    told.end();
    EXPECT_EQ(waiting.join(), 0u);
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(*got, 7);
  });
}

TEST_P(SelectEvent, tasks_without_value_call_handlers_without_arguments) {
  weft::run([] {
    weft::task<void> ended = weft::spawn([] {});
    bool called = false;
    EXPECT_EQ(weft::select(weft::on_join(ended, [&] { called = true; })), 0u);
    EXPECT_TRUE(called);
    int x = 1;
    weft::task<int&> reference = weft::spawn([&]() -> int& { return x; });
    EXPECT_EQ(weft::select(weft::on_join(reference, [&](int& value) { EXPECT_EQ(&value, &x); })), 0u);
    weft::task<int> dropped = weft::spawn([] { return 1; });
    EXPECT_EQ(weft::select(weft::on_join(dropped)), 0u);
    EXPECT_FALSE(dropped.joinable());
  });
}

TEST_P(SelectEvent, what_a_task_threw_leaves_select) {
  weft::run([] {
    weft::task<int> failed = weft::spawn([]() -> int { throw std::runtime_error("failed"); });
    weft::chan<int> silent;
    EXPECT_THROW(
        weft::select(weft::on_join(failed, [](int) { ADD_FAILURE() << "there is no value"; }), weft::on_recv(silent)),
        std::runtime_error);
    EXPECT_FALSE(failed.joinable());
    weft::task<void> left = weft::spawn([] { weft::this_goroutine::exit(); });
    EXPECT_THROW(weft::select(weft::on_join(left), weft::on_recv(silent)), weft::goroutine_exited);
    const weft::chan<int> other(1);
    weft::task<void> failing_late = weft::spawn([] { throw std::logic_error("late"); });
    other.send(1);  // the case of a channel may win; then the task is joined as if nothing had been
    std::size_t chosen = 2;
    try {
      chosen = weft::select(weft::on_recv(other), weft::on_join(failing_late));
    } catch (const std::logic_error&) {
    }
    EXPECT_EQ(failing_late.joinable(), chosen == 0);
    if (chosen == 0) {
      EXPECT_THROW(failing_late.join(), std::logic_error);
    }
  });
}

TEST_P(SelectEvent, a_case_that_loses_leaves_its_task_alone) {
  weft::run([] {
    Told<std::string> told("later");
    weft::chan<int> ready(1);
    for (int i = 0; i < 100; ++i) {
      ready.send(i);
      EXPECT_EQ(weft::select(weft::on_join(told.task), weft::on_recv(ready)), 1u);
      EXPECT_EQ(weft::select(weft::on_join(told.task), weft::on_default()), 1u);
      if (i < 3) {
        EXPECT_EQ(weft::select(weft::on_join(told.task), weft::on_timeout(1ms)), 1u);
      }
    }
    EXPECT_FALSE(told.task.ready());
    told.end();
    EXPECT_EQ(told.task.join(), "later");
  });
}

TEST_P(SelectEvent, a_joined_task_and_an_invalid_future_are_never_ready) {
  weft::run([] {
    weft::task<int> joined = weft::spawn([] { return 1; });
    joined.join();
    weft::task<int> none;
    weft::future<int> invalid;
    EXPECT_EQ(weft::select(weft::on_join(joined), weft::on_join(none), weft::on_ready(invalid), weft::on_default()),
              3u);
    EXPECT_EQ(weft::select(weft::on_join(joined), weft::on_ready(invalid), weft::on_timeout(1ms)), 2u);
    Told<int> first(1), second(2);
    second.end();
    int sum = 0;
    const auto add = [&](int value) { sum += value; };
    EXPECT_EQ(weft::select(weft::on_join(first.task, add), weft::on_join(second.task, add)), 1u);
    first.end();
    EXPECT_EQ(weft::select(weft::on_join(first.task, add), weft::on_join(second.task, add)), 0u);
    EXPECT_EQ(sum, 3);
  });
}

TEST_P(SelectEvent, a_future_that_is_ready_runs_its_case) {
  weft::run([] {
    weft::promise<int> word;
    weft::future<int> later = word.get_future();
    EXPECT_EQ(weft::select(weft::on_ready(later), weft::on_default()), 1u);
    weft::chan<int> silent;
    int got = 0;
    weft::task<std::size_t> waiting = weft::spawn([&] {
      return weft::select(weft::on_recv(silent),
                          weft::on_ready(later, [&](weft::future<int>& ready) { got = ready.get(); }));
    });
    EXPECT_FALSE(waiting.wait_for(1ms));
    word.set_value(5);
    EXPECT_EQ(waiting.join(), 1u);
    EXPECT_EQ(got, 5);
    EXPECT_FALSE(later.valid());
  });
}

TEST_P(SelectEvent, handlers_of_futures_take_it_by_reference_by_value_or_not_at_all) {
  weft::run([] {
    weft::promise<int> word;
    word.set_value(1);
    weft::future<int> later = word.get_future();
    bool called = false;
    EXPECT_EQ(weft::select(weft::on_ready(later, [&] { called = true; })), 0u);
    EXPECT_TRUE(called && later.valid());
    EXPECT_EQ(weft::select(weft::on_ready(std::as_const(later), [](const auto& ready) { EXPECT_TRUE(ready.valid()); })),
              0u);
    weft::future<int> kept;
    EXPECT_EQ(weft::select(weft::on_ready(later, [&](weft::future<int> taken) { kept = std::move(taken); })), 0u);
    EXPECT_EQ(kept.get(), 1);
    weft::promise<void> broken;
    weft::future<void> never = broken.get_future();
    broken = weft::promise<void>();
    EXPECT_EQ(weft::select(weft::on_ready(never, [](auto& ready) { EXPECT_THROW(ready.get(), std::future_error); })),
              0u);
    weft::promise<std::string> given;
    given.set_value("text");
    std::string text;
    EXPECT_EQ(weft::select(weft::on_ready(given.get_future(), [&](auto& ready) { text = ready.get(); })), 0u);
    EXPECT_EQ(text, "text");
  });
}

TEST_P(SelectEvent, many_wait_for_one_shared_future) {
  weft::run([] {
    weft::promise<int> word;
    const weft::shared_future<int> shared = word.get_future();
    weft::chan<int> silent;
    std::vector<weft::task<int>> waiting;
    for (int i = 0; i < 10; ++i)
      waiting.push_back(weft::spawn([&] {
        int got = 0;
        weft::select(weft::on_recv(silent), weft::on_ready(shared, [&](const auto& ready) { got = ready.get(); }));
        return got;
      }));
    EXPECT_EQ(weft::select(weft::on_ready(shared), weft::on_timeout(1ms)), 1u);
    word.set_value(6);
    for (auto& one : waiting) EXPECT_EQ(one.join(), 6);
    EXPECT_EQ(weft::wait_any(shared), 0u);
  });
}

TEST_P(SelectEvent, what_stands_in_two_cases_is_delivered_once) {
  weft::run([] {
    Told<int> told(3);
    weft::promise<int> word;
    weft::future<int> later = word.get_future();
    int calls = 0;
    weft::task<std::size_t> waiting = weft::spawn([&] {
      return weft::select(weft::on_join(told.task, [&](int) { ++calls; }), weft::on_ready(later),
                          weft::on_join(told.task, [&](int) { ++calls; }), weft::on_ready(later));
    });
    EXPECT_FALSE(waiting.wait_for(1ms));
    told.end();
    EXPECT_EQ(waiting.join() % 2, 0u);
    EXPECT_EQ(calls, 1);
    word.set_value(1);
    EXPECT_EQ(weft::select(weft::on_ready(later), weft::on_ready(later)) < 2, true);
  });
}

TEST_P(SelectEvent, chooses_evenly_among_the_ready) {
  weft::run([] {
    constexpr int kRounds = 4000;
    std::array<int, 3> chosen{};
    weft::promise<int> word;
    word.set_value(1);
    const weft::future<int> ready = word.get_future();
    weft::chan<int> full(1);
    full.send(1);
    for (int i = 0; i < kRounds; ++i) {
      weft::task<int> ended = weft::spawn([] { return 1; });
      while (!ended.ready()) weft::this_goroutine::yield();
      const std::size_t index = weft::select(weft::on_recv(full), weft::on_join(ended), weft::on_ready(ready));
      ++chosen.at(index);
      if (index == 0) full.send(1);
    }
    for (const int count : chosen) {  // 1333 expected, deviation 30
      EXPECT_GT(count, kRounds / 3 - 250);
      EXPECT_LT(count, kRounds / 3 + 250);
    }
  });
}

TEST_P(SelectEvent, plain_threads_wait_as_well) {
  Told<int> told(9);
  weft::promise<int> word;
  weft::future<int> later = word.get_future();
  std::thread ender([&] {
    std::this_thread::sleep_for(2ms);
    told.end();
  });
  int got = 0;
  EXPECT_EQ(weft::select(weft::on_ready(later), weft::on_join(told.task, [&](int value) { got = value; })), 1u);
  EXPECT_EQ(got, 9);
  ender.join();
  EXPECT_EQ(weft::wait_any_for(1ms, later), std::nullopt);
  std::thread setter([&] { word.set_value(1); });
  EXPECT_EQ(weft::wait_any(later), 0u);
  setter.join();
}

TEST_P(SelectEvent, everything_competes_and_one_wins) {
  weft::run([] {
    int joined = 0, received = 0, taken = 0, late = 0;
    constexpr int kRounds = 400;
    for (int i = 0; i < kRounds; ++i) {
      weft::promise<int> word;
      weft::future<int> later = word.get_future();
      weft::chan<int> values;
      weft::task<int> ending = weft::spawn([] { return 1; });
      weft::task<void> setting = weft::spawn([&] { word.set_value(2); });
      weft::task<bool> sending = weft::spawn([&] { return values.send_for(3, 100ms); });
      const int before = joined + received + taken + late;
      const std::size_t index = weft::select(weft::on_join(ending, [&](int) { ++joined; }),
                                             weft::on_recv(values, [&](std::optional<int>) { ++received; }),
                                             weft::on_ready(later, [&](auto& ready) { taken += ready.get() == 2; }),
                                             weft::on_timeout(1h, [&] { ++late; }));
      EXPECT_EQ(joined + received + taken + late, before + 1);
      EXPECT_EQ(ending.joinable(), index != 0);
      EXPECT_EQ(later.valid(), index != 2);
      if (index != 1) values.recv();
      EXPECT_TRUE(sending.join());
      setting.join();
      EXPECT_TRUE(index == 2 || later.get() == 2);
      EXPECT_TRUE(index == 0 || ending.join() == 1);
    }
    EXPECT_EQ(joined + received + taken, kRounds);
  });
}

TEST_P(SelectEvent, time_limits_and_ends_compete) {
  weft::run([] {
    for (int i = 0; i < 300; ++i) {
      weft::promise<int> word;
      weft::future<int> later = word.get_future();
      weft::task<int> ending = weft::spawn([&word, i] {
        weft::this_goroutine::sleep_for(std::chrono::microseconds(i % 60));
        word.set_value(1);
        return 1;
      });
      const std::size_t index =
          weft::select(weft::on_join(ending), weft::on_ready(later), weft::on_timeout(std::chrono::microseconds(30)));
      if (index == 0) {
        EXPECT_FALSE(ending.joinable());
      } else {
        EXPECT_EQ(ending.join(), 1);
      }
      EXPECT_EQ(later.get(), 1);
    }
  });
}

// --- selector ---

TEST_P(SelectEvent, a_selector_waits_for_tasks_and_futures) {
  weft::run([] {
    std::vector<weft::task<int>> tasks;
    for (int i = 0; i < 20; ++i) tasks.push_back(weft::spawn([i] { return i; }));
    weft::promise<int> word;
    weft::future<int> later = word.get_future();
    weft::chan<int> values(1);
    weft::selector s;
    int sum = 0;
    for (weft::task<int>& one : tasks) s.join(one, [&](int value) { sum += value; });
    const std::size_t of_future = s.ready(later, [&](auto& ready) { sum += ready.get(); });
    const std::size_t of_channel = s.recv(values, [&](std::optional<int> value) { sum += *value; });
    EXPECT_EQ(of_future, 20u);
    EXPECT_EQ(of_channel, 21u);
    for (int i = 0; i < 20; ++i) EXPECT_LT(s.wait(), 20u);  // each once: a joined one is never ready again
    EXPECT_EQ(sum, 190);
    EXPECT_EQ(s.try_wait(), std::nullopt);
    EXPECT_EQ(s.wait_for(1ms), std::nullopt);
    word.set_value(1000);
    EXPECT_EQ(s.wait(), of_future);
    values.send(10000);
    EXPECT_EQ(s.wait(), of_channel);
    EXPECT_EQ(sum, 11190);
    EXPECT_EQ(s.try_wait(), std::nullopt);
    s.clear();
    s.recv(values);
    values.send(1);
    EXPECT_EQ(s.wait(), 0u);
  });
}

TEST_P(SelectEvent, a_selector_keeps_what_is_moved_in) {
  weft::run([] {
    weft::promise<int> word;
    int sum = 0;
    {
      weft::selector s;
      s.join(weft::spawn([] { return 5; }), [&](int value) { sum += value; });
      s.ready(word.get_future(), [&](weft::future<int>& ready) { sum += ready.get(); });
      EXPECT_EQ(s.wait(), 0u);
      word.set_value(6);
      EXPECT_EQ(s.wait(), 1u);
    }
    EXPECT_EQ(sum, 11);
    weft::selector failing;
    failing.join(weft::spawn([] { throw std::runtime_error("no"); }));
    EXPECT_THROW(failing.wait(), std::runtime_error);
    EXPECT_EQ(failing.try_wait(), std::nullopt);
  });
}

// --- wait_any ---

TEST_P(SelectEvent, wait_any_names_one_that_is_ready) {
  weft::run([] {
    Told<int> first(1), second(2);
    weft::promise<void> word;
    weft::future<void> later = word.get_future();
    EXPECT_EQ(weft::wait_any_for(1ms, first.task, second.task, later), std::nullopt);
    EXPECT_EQ(weft::wait_any_until(std::chrono::steady_clock::now(), first.task, later), std::nullopt);
    EXPECT_EQ(weft::wait_any_until(weft::time_point(), first.task, later), std::nullopt);
    EXPECT_EQ(weft::wait_any_until(std::chrono::system_clock::now() + 1ms, first.task, later), std::nullopt);
    second.end();
    EXPECT_EQ(weft::wait_any(first.task, second.task, later), 1u);
    EXPECT_TRUE(second.task.joinable());  // it takes nothing
    EXPECT_EQ(weft::wait_any(first.task, second.task, later), 1u);
    EXPECT_EQ(second.task.join(), 2);
    weft::go([&] { word.set_value(); });
    EXPECT_EQ(weft::wait_any(first.task, second.task, later), 2u);
    later.get();
    first.end();
    EXPECT_EQ(weft::wait_any_for(1h, first.task, second.task, later), 0u);
    first.task.join();
    EXPECT_THROW(weft::wait_any(first.task, second.task, later), weft::logic_error);
  });
}

TEST_P(SelectEvent, wait_any_takes_ranges) {
  weft::run([] {
    for (const int count : {1, 8, 9, 100}) {
      std::vector<weft::task<int>> tasks;
      for (int i = 0; i < count; ++i) tasks.push_back(weft::spawn([i] { return i; }));
      int sum = 0;
      for (int i = 0; i < count; ++i) sum += tasks.at(weft::wait_any(tasks)).join();
      EXPECT_EQ(sum, count * (count - 1) / 2);
      EXPECT_THROW(weft::wait_any(tasks), weft::logic_error);
    }
    std::list<weft::promise<int>> words(3);
    std::list<weft::future<int>> futures;
    for (auto& word : words) futures.push_back(word.get_future());
    EXPECT_EQ(weft::wait_any_for(1ms, futures), std::nullopt);
    words.back().set_value(1);
    EXPECT_EQ(weft::wait_any(std::as_const(futures)), 2u);
    EXPECT_EQ(weft::wait_any_until(weft::time_point::max(), futures), 2u);
    const std::vector<weft::task<int>> nobody;
    EXPECT_THROW(weft::wait_any(nobody), weft::logic_error);
  });
}

TEST_P(SelectEvent, reports_say_what_a_select_waits_for) {
  weft::run([] {
    Told<int> told(1);
    weft::promise<int> word;
    weft::future<int> later = word.get_future();
    weft::task<std::size_t> waiting =
        weft::spawn([&] { return weft::select(weft::on_join(told.task), weft::on_ready(later)); });
    const std::string end =
        "waits for the end of goroutine " + std::to_string(told.task.id().value()) + " or future (0x";
    EXPECT_TRUE(spin_until([&] { return dump_text().find(end) != std::string::npos; })) << end << '\n' << dump_text();
    word.set_value(1);
    EXPECT_EQ(waiting.join(), 1u);
    told.end();
  });
}

}  // namespace
