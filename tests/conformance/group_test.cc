// SPDX-License-Identifier: MIT
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/runtime_test.h"

// group: goroutines that end before it does; the first exception cancels the others and reaches wait().
namespace {

using namespace weft::test;
using weft::context;

class Group : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Group);

std::string failure_of(weft::group& group) {
  try {
    group.wait();
    return "none";
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST_P(Group, waits_for_all) {
  weft::run([] {
    weft::group group;
    std::atomic<int> done{0};
    for (int i = 0; i < 100; ++i)
      group.go([&, i] {
        if (i % 3 == 0) weft::this_goroutine::sleep_for(1ms);
        if (i % 3 == 1) weft::this_goroutine::yield();
        ++done;
      });
    group.wait();
    EXPECT_EQ(done, 100);
    EXPECT_TRUE(group.ctx().cancelled()) << "its work is over";
  });
}

TEST_P(Group, of_nothing_is_done_at_once) {
  weft::group group;
  group.wait();
  weft::group unused;
}

TEST_P(Group, the_first_exception_cancels_the_others_and_is_rethrown) {
  weft::run([] {
    weft::group group;
    std::atomic<int> cancelled{0};
    for (int i = 0; i < 10; ++i)
      group.go([&](const context& ctx) {
        ctx.done().recv();
        EXPECT_EQ(ctx.err(), std::make_error_code(std::errc::operation_canceled));
        ++cancelled;
        throw std::runtime_error("not the first");
      });
    group.go([] {
      weft::this_goroutine::sleep_for(1ms);
      throw std::runtime_error("the first");
    });
    EXPECT_EQ(failure_of(group), "the first");
    EXPECT_EQ(cancelled, 10);
    EXPECT_EQ(failure_of(group), "none") << "it was delivered";
    try {
      std::rethrow_exception(group.ctx().cause());
    } catch (const std::exception& error) {
      EXPECT_STREQ(error.what(), "the first");
    }
  });
}

TEST_P(Group, exceptions_of_any_type_arrive) {
  weft::run([] {
    weft::group group;
    group.go([] { throw 42; });
    EXPECT_THROW(group.wait(), int);
  });
}

TEST_P(Group, an_exit_is_no_failure) {
  weft::run([] {
    weft::group group;
    group.limit(2);
    std::atomic<int> destroyed{0};
    struct Guard {
      std::atomic<int>& count;
      ~Guard() { ++count; }
    };
    for (int i = 0; i < 10; ++i)
      group.go([&] {
        const Guard guard{destroyed};
        weft::this_goroutine::exit();
      });
    group.wait();
    EXPECT_EQ(destroyed, 10);
  });
}

TEST_P(Group, the_destructor_cancels_and_joins) {
  weft::run([] {
    std::atomic<int> ended{0};
    {
      weft::group group;
      for (int i = 0; i < 10; ++i)
        group.go([&](const context& ctx) {
          ctx.done().recv();
          weft::this_goroutine::sleep_for(1ms);
          ++ended;
        });
      group.go([] { throw std::runtime_error("nobody asks"); });
    }
    EXPECT_EQ(ended, 10);
  });
}

TEST_P(Group, an_exception_beside_it_unwinds_through_it) {
  weft::run([] {
    std::atomic<int> ended{0};
    try {
      weft::group group;
      group.go([&](const context& ctx) {
        ctx.done().recv();
        ++ended;
      });
      throw std::runtime_error("beside");
    } catch (const std::runtime_error&) {
      EXPECT_EQ(ended, 1) << "joined before the handler runs";
    }
  });
}

TEST_P(Group, the_parents_cancellation_and_deadline_reach_it) {
  weft::run([] {
    auto [parent, cancel] = weft::with_cancel(weft::with_value(context::background(), 3));
    weft::group group(parent);
    EXPECT_EQ(*group.ctx().value<int>(), 3);
    std::atomic<int> ended{0};
    for (int i = 0; i < 5; ++i)
      group.go([&](const context& ctx) {
        ctx.done().recv();
        ++ended;
      });
    cancel();
    group.wait();
    EXPECT_EQ(ended, 5);

    auto [limited, cancel_limited] = weft::with_timeout(context::background(), 2ms);
    weft::group in_time(limited);
    in_time.go([](const context& ctx) {
      ctx.done().recv();
      EXPECT_EQ(ctx.err(), std::make_error_code(std::errc::timed_out));
    });
    in_time.wait();

    weft::group too_late(parent);
    EXPECT_TRUE(too_late.ctx().cancelled());
    bool ran = false;
    too_late.go([&] { ran = true; });
    too_late.wait();
    EXPECT_TRUE(ran) << "cancellation is a request, not a refusal";
  });
}

TEST_P(Group, no_more_run_than_the_limit_allows) {
  weft::run([] {
    for (const std::size_t limit : {1u, 3u}) {
      weft::group group;
      group.limit(limit);
      std::atomic<int> running{0}, most{0}, done{0};
      for (int i = 0; i < 50; ++i)
        group.go([&] {
          const int now = ++running;
          for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          weft::this_goroutine::yield();
          --running;
          ++done;
        });
      group.wait();
      EXPECT_EQ(done, 50);
      EXPECT_LE(most, static_cast<int>(limit));
    }
  });
}

// A function whose copy counts while it lives, and takes its time to go.
struct Lingering {
  explicit Lingering(int how) : end(how) {}
  Lingering(const Lingering& other) : end(other.end), counts(true) {
    const int now = ++alive;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
  }
  Lingering(Lingering&& other) noexcept : end(other.end), counts(std::exchange(other.counts, false)) {}
  ~Lingering() {
    if (!counts) return;
    for (int i = 0; i < 3; ++i) weft::this_goroutine::yield();
    --alive;
  }
  void operator()() const {
    if (end == 1) throw std::runtime_error("one of them");
    if (end == 2) weft::this_goroutine::exit();
  }
  int end;
  bool counts = false;
  static inline std::atomic<int> alive{0}, most{0};
};

TEST_P(Group, a_place_is_free_when_the_function_that_had_it_has_gone) {
  weft::run([] {
    for (const int limit : {1, 2}) {
      Lingering::most = 0;
      weft::group group;
      group.limit(static_cast<std::size_t>(limit));
      for (int i = 0; i < 30; ++i) {
        const Lingering function(i % 3);
        group.go(function);
      }
      EXPECT_EQ(failure_of(group), "one of them");
      EXPECT_LE(Lingering::most, limit);
      EXPECT_EQ(Lingering::alive, 0);
    }
  });
}

TEST_P(Group, a_failure_gives_its_place_back) {
  weft::run([] {
    weft::group group;
    group.limit(1);
    for (int i = 0; i < 10; ++i) group.go([] { throw std::runtime_error("each of them"); });
    EXPECT_EQ(failure_of(group), "each of them");
  });
}

TEST_P(Group, limits_are_checked) {
  weft::run([] {
    weft::group group;
    EXPECT_THROW(group.limit(0), weft::logic_error);
    weft::event go_on;
    group.go([&] { go_on.wait(); });
    EXPECT_THROW(group.limit(2), weft::logic_error) << "while some run";
    go_on.set();
    group.wait();
    group.limit(2);
    group.go([] {});
    group.wait();
  });
}

TEST_P(Group, empty_functions_are_refused_where_they_are_given) {
  weft::run([] {
    weft::group group;
    group.limit(1);
    for (int i = 0; i < 3; ++i) {
      EXPECT_THROW(group.go(std::function<void()>()), weft::logic_error);
      EXPECT_THROW(group.go(static_cast<void (*)()>(nullptr)), weft::logic_error);
    }
    group.go([] {});  // no place was lost
    group.wait();
  });
}

TEST_P(Group, a_function_whose_copy_throws_takes_no_place_along) {
  struct Fragile {
    Fragile() = default;
    Fragile(const Fragile&) { throw std::runtime_error("copy"); }
    void operator()() const {}
  };
  weft::run([] {
    weft::group group;
    group.limit(1);
    const Fragile fragile;
    for (int i = 0; i < 3; ++i) EXPECT_THROW(group.go(fragile), std::runtime_error);
    group.go([] {});
    group.wait();
  });
}

TEST_P(Group, takes_functions_that_can_only_be_moved_or_only_be_copied) {
  struct CopyOnly {
    explicit CopyOnly(std::atomic<int>& value) : sum(value) {}
    CopyOnly(const CopyOnly& other) : sum(other.sum) {}
    void operator()() const { ++sum; }
    std::atomic<int>& sum;
  };
  weft::run([] {
    std::atomic<int> sum{0};
    weft::group group;
    group.go([&sum, value = std::make_unique<int>(5)] { sum += *value; });
    group.go(CopyOnly(sum));
    weft::wait_group plain;
    plain.go([&sum, value = std::make_unique<int>(5)] { sum += *value; });
    plain.go(CopyOnly(sum));
    plain.wait();
    group.wait();
    EXPECT_EQ(sum, 12);
  });
}

// Who waits for a goroutine waits for what it captured, too: its destructors may use what the waiter owns.
TEST_P(Group, what_was_captured_is_gone_when_wait_returns) {
  weft::run([] {
    for (int round = 0; round < scaled(300); ++round) {
      Counted::alive = 0;
      {
        weft::group group;
        for (int i = 0; i < 3; ++i)
          group.go([counted = Counted(), i] {
            if (i == 1) throw std::runtime_error("also then");
            if (i == 2) weft::this_goroutine::exit();
          });
        failure_of(group);
        EXPECT_EQ(Counted::alive, 0);
      }
      weft::wait_group plain;
      plain.go([counted = Counted()] {});
      plain.go([counted = Counted()] { weft::this_goroutine::exit(); });
      plain.wait();
      EXPECT_EQ(Counted::alive, 0);
    }
  });
}

TEST_P(Group, nests) {
  weft::run([] {
    weft::group outer;
    std::atomic<int> inner_cancelled{0};
    weft::chan<int> waiting(4);
    for (int i = 0; i < 4; ++i)
      outer.go([&](const context& ctx) {
        weft::group inner(ctx);
        for (int k = 0; k < 4; ++k)
          inner.go([&](const context& own) {
            waiting.try_send(1);
            own.done().recv();
            ++inner_cancelled;
          });
        inner.wait();
      });
    outer.go([&] {
      for (int i = 0; i < 4; ++i) waiting.recv();
      throw std::runtime_error("from outside");
    });
    EXPECT_EQ(failure_of(outer), "from outside");
    EXPECT_EQ(inner_cancelled, 16);

    weft::group again;
    std::atomic<bool> beside_cancelled{false};
    again.go([&](const context& ctx) {
      ctx.done().recv();
      beside_cancelled = true;
    });
    again.go([](const context& ctx) {
      weft::group inner(ctx);
      inner.go([] { throw std::runtime_error("from inside"); });
      inner.wait();
    });
    EXPECT_EQ(failure_of(again), "from inside");
    EXPECT_TRUE(beside_cancelled);
  });
}

TEST_P(Group, goroutines_of_it_start_others) {
  weft::run([] {
    weft::group group;
    std::atomic<int> leaves{0};
    std::function<void(int)> grow = [&](int depth) {
      if (depth == 0) {
        ++leaves;
        return;
      }
      for (int i = 0; i < 3; ++i) group.go([&grow, depth] { grow(depth - 1); });
    };
    group.go([&] { grow(5); });
    group.wait();
    EXPECT_EQ(leaves, 243);
  });
}

TEST_P(Group, can_be_used_again_after_wait) {
  weft::run([] {
    weft::group group;
    int sum = 0;
    for (int round = 0; round < 5; ++round) {
      group.go([&] { ++sum; });
      group.wait();
    }
    EXPECT_EQ(sum, 5);
  });
}

TEST_P(Group, each_round_reports_its_own_first_exception) {
  weft::run([] {
    weft::group group;
    for (const std::string round : {"one", "two", "three"}) {
      group.go([&] { throw std::runtime_error(round); });
      EXPECT_EQ(failure_of(group), round);
      group.go([] {});
      EXPECT_EQ(failure_of(group), "none");
      EXPECT_TRUE(group.ctx().cancelled()) << "and stays so";
    }
    try {
      std::rethrow_exception(group.ctx().cause());
    } catch (const std::exception& error) {
      EXPECT_STREQ(error.what(), "one");
    }
  });
}

TEST_P(Group, threads_use_it_too) {
  weft::group group;
  group.limit(3);
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) group.go([&] { ++sum; });
    });
  for (std::thread& thread : threads) thread.join();
  group.wait();
  EXPECT_EQ(sum, 150);
  group.go([](const context&) { throw std::runtime_error("to a thread"); });
  EXPECT_EQ(failure_of(group), "to a thread");
}

TEST_P(Group, try_go_starts_no_more_than_the_limit_allows) {
  weft::run([] {
    weft::group group;
    group.limit(3);
    weft::event may_end;
    std::atomic<int> ended{0};
    const auto work = [&] {
      may_end.wait();
      ++ended;
    };
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(group.try_go(work));
    EXPECT_FALSE(group.try_go(work));
    auto kept = std::make_unique<int>(7);
    auto refused = [kept = std::move(kept), &ended] { ended += *kept; };
    EXPECT_FALSE(group.try_go(std::move(refused)));
    may_end.set();
    ASSERT_TRUE(spin_until([&] { return group.try_go(std::move(refused)); })) << "it was not moved from when refused";
    group.wait();
    EXPECT_EQ(ended, 3 + 7);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(group.try_go([] {})) << "all places are free again";
    group.wait();
  });
}

TEST_P(Group, try_go_without_a_limit_always_starts) {
  weft::group group;
  std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(group.try_go([&](const context& ctx) { ran += !ctx.cancelled(); }));
  group.wait();
  EXPECT_EQ(ran, 100);
  EXPECT_THROW(static_cast<void>(group.try_go(std::function<void()>())), weft::logic_error);
}

TEST_P(Group, a_limit_holds_for_go_and_try_go_together) {
  weft::group group;
  constexpr int kLimit = 4;
  group.limit(kLimit);
  std::atomic<int> inside{0}, started{0};
  const auto work = [&] {
    EXPECT_LE(++inside, kLimit);
    weft::this_goroutine::yield();
    --inside;
    ++started;
  };
  int expected = 0;
  for (int i = 0; i < scaled(500); ++i) {
    group.go(work);
    expected += 1 + group.try_go(work);
  }
  group.wait();
  EXPECT_EQ(started, expected);
}

TEST_P(Group, options_come_first_as_for_go) {
  weft::run([] {
    weft::event may_end;
    const auto work = [&] { may_end.wait(); };
    weft::group group;
    weft::wait_group plain;
    group.go({.name = "a member"}, work);
    EXPECT_TRUE(group.try_go({.name = "one that was let in"}, work));
    plain.go({.name = "one of a wait group", .stack_size = 512 * 1024}, work);
    ASSERT_TRUE(spin_until([] {
      const std::string dump = dump_text();
      return dump.find("a member") != std::string::npos && dump.find("one that was let in") != std::string::npos &&
             dump.find("one of a wait group") != std::string::npos;
    })) << dump_text();
    EXPECT_THROW(plain.go({.name = "none"}, std::function<void()>()), weft::logic_error);
    EXPECT_THROW(group.go({.name = "none"}, std::function<void()>()), weft::logic_error);
    EXPECT_THROW(plain.go({.stack_size = SIZE_MAX}, work), std::bad_alloc) << "and it counts as done";
    EXPECT_THROW(group.go({.stack_size = SIZE_MAX}, work), std::bad_alloc);
    may_end.set();
    plain.wait();
    group.wait();
  });
}

}  // namespace
