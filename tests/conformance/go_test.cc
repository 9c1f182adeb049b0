// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/runtime_test.h"

// weft::go: what can be started, with which arguments, and what is refused at the call.
namespace {

using namespace weft::test;

class Go : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Go);

int free_function_sum = 0;
void add_to_sum(int a, int b, weft::wait_group* group) {
  free_function_sum += a * b;
  group->done();
}

TEST_P(Go, calls_functions_member_functions_and_objects) {
  struct Object {
    int value = 0;
    void set(int to, weft::wait_group* group) {
      value = to;
      group->done();
    }
  } object;
  weft::wait_group group;
  group.add(3);
  free_function_sum = 0;
  int from_lambda = 0;
  weft::go(add_to_sum, 6, 7, &group);
  weft::go(&Object::set, &object, 5, &group);
  weft::go([&from_lambda, &group] {
    from_lambda = 9;
    group.done();
  });
  group.wait();
  EXPECT_EQ(free_function_sum, 42);
  EXPECT_EQ(object.value, 5);
  EXPECT_EQ(from_lambda, 9);
}

TEST_P(Go, copies_its_arguments_before_it_returns) {
  weft::run([] {
    std::string text = "before";
    char letters[] = "letters";
    std::string seen;
    weft::wait_group group;
    group.add(2);
    int counter = 0;
    weft::go(
        [&seen, &group](const std::string& copy) {
          seen = copy;
          group.done();
        },
        text);
    weft::go(
        [&group](int& reference, const char* array) {
          EXPECT_STREQ(array, "letters");
          ++reference;
          group.done();
        },
        std::ref(counter), letters);
    text = "after";
    group.wait();
    EXPECT_EQ(seen, "before");
    EXPECT_EQ(counter, 1);
  });
}

TEST_P(Go, moves_arguments_and_closures_that_cannot_be_copied) {
  weft::wait_group group;
  group.add(2);
  auto captured = std::make_unique<int>(3);
  std::atomic<int> sum{0};
  weft::go([&sum, &group, captured = std::move(captured)] {
    sum += *captured;
    group.done();
  });
  weft::go(
      [&sum, &group](std::unique_ptr<int> argument) {
        sum += *argument;
        group.done();
      },
      std::make_unique<int>(4));
  group.wait();
  EXPECT_EQ(sum, 7);
}

template <std::size_t Bytes>
void check_closure_of() {
  std::array<unsigned char, Bytes> content;
  std::iota(content.begin(), content.end(), static_cast<unsigned char>(1));
  weft::event done;
  bool intact = false;
  weft::go([content, &done, &intact, counted = Counted()] {
    weft::this_goroutine::yield();
    intact = true;
    for (std::size_t i = 0; i < Bytes; ++i) intact &= content[i] == static_cast<unsigned char>(i + 1);
    done.set();
  });
  done.wait();
  EXPECT_TRUE(intact) << Bytes;
  EXPECT_TRUE(spin_until([] { return Counted::alive == 0; }))
      << Counted::alive << " closures of " << Bytes << " bytes are left";
}

TEST_P(Go, takes_closures_of_any_size) {
  weft::run([] {
    check_closure_of<1>();
    check_closure_of<15>();
    check_closure_of<16>();
    check_closure_of<23>();
    check_closure_of<24>();
    check_closure_of<31>();
    check_closure_of<32>();
    check_closure_of<33>();
    check_closure_of<40>();
    check_closure_of<100>();
    check_closure_of<4096>();
    check_closure_of<20'000>();
  });
}

template <std::size_t Alignment>
void check_alignment() {
  struct alignas(std::max(Alignment, alignof(int))) Aligned {
    int value = 11;
  };
  weft::event done;
  weft::go([&done, aligned = Aligned()] {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&aligned) % Alignment, 0u);
    EXPECT_EQ(aligned.value, 11);
    done.set();
  });
  done.wait();
  weft::event named_done;
  weft::go(weft::go_options{.name = "aligned"}, [&named_done, aligned = Aligned()] {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&aligned) % Alignment, 0u);
    named_done.set();
  });
  named_done.wait();
}

TEST_P(Go, keeps_the_alignment_of_closures) {
  check_alignment<1>();
  check_alignment<16>();
  check_alignment<32>();
  check_alignment<64>();
  check_alignment<4096>();
}

struct ThrowsWhenCopied {
  ThrowsWhenCopied() = default;
  ThrowsWhenCopied(const ThrowsWhenCopied& other) : counted(other.counted) { throw std::runtime_error("copied"); }
  Counted counted;
  void operator()() const { ADD_FAILURE() << "it must not run"; }
};

TEST_P(Go, throws_at_the_call_when_a_copy_throws) {
  weft::run([&] {
    const std::size_t before = weft::runtime::num_goroutines();
    {
      const ThrowsWhenCopied function;
      EXPECT_THROW(weft::go(function), std::runtime_error);
      EXPECT_THROW(weft::go(weft::go_options{.name = "x"}, function), std::runtime_error);
      EXPECT_THROW(static_cast<void>(weft::spawn(function)), std::runtime_error);
      EXPECT_THROW(weft::go([](const ThrowsWhenCopied&) {}, function), std::runtime_error);
      weft::wait_group group;
      EXPECT_THROW(group.go(function), std::runtime_error);
      group.wait();  // its count was taken back
    }
    EXPECT_EQ(Counted::alive, 0);
    EXPECT_EQ(weft::runtime::num_goroutines(), before);
    EXPECT_EQ(weft::spawn([] { return 1; }).join(), 1);
  });
}

TEST_P(Go, refuses_an_empty_function_at_the_call) {
  void (*null)() = nullptr;
  void (std::string::*null_member)() = nullptr;
  std::string object;
  const std::function<void()> empty;
  const std::size_t before = weft::runtime::num_goroutines();
  EXPECT_THROW(weft::go(empty), weft::logic_error);
  EXPECT_THROW(weft::go(null), weft::logic_error);
  EXPECT_THROW(weft::go(null_member, &object), weft::logic_error);
  EXPECT_THROW(weft::go(weft::go_options{.name = "x"}, null), weft::logic_error);
  EXPECT_THROW(static_cast<void>(weft::spawn(empty)), weft::logic_error);
  weft::wait_group group;
  EXPECT_THROW(group.go(empty), weft::logic_error);
  group.wait();
  const auto refused_by = [](auto&& call) {
    try {
      call();
    } catch (const weft::logic_error& error) {
      const std::string text = error.what();
      return text.substr(0, text.find(": the function is empty"));
    }
    return std::string("nobody");
  };
  EXPECT_EQ(refused_by([&] { weft::go(empty); }), "weft: go");
  EXPECT_EQ(refused_by([&] { static_cast<void>(weft::spawn(empty)); }), "weft: spawn");
  EXPECT_EQ(refused_by([&] { weft::run(empty); }), "weft: run");
  EXPECT_EQ(refused_by([&] { group.go(empty); }), "weft: wait_group::go");
  EXPECT_EQ(refused_by([&] { weft::group().go(empty); }), "weft: group::go");
  EXPECT_EQ(refused_by([&] { weft::after_func(std::chrono::hours(1), empty); }), "weft: after_func");
  EXPECT_EQ(refused_by([&] { weft::after_func(weft::context::background(), empty); }), "weft: after_func");
  EXPECT_EQ(refused_by([&] { weft::timer(std::chrono::hours(1), empty); }), "weft: timer");
  EXPECT_EQ(weft::runtime::num_goroutines(), before);
}

TEST_P(Go, chains_of_goroutines_each_started_by_the_last) {
  struct Chain {
    weft::event done;
    std::atomic<int> length{0};
    void step(int left) {
      ++length;
      if (left == 0) {
        done.set();
      } else {
        weft::go([this, left] { step(left - 1); });
      }
    }
  } chain;
  weft::go([&] { chain.step(scaled(50'000)); });
  chain.done.wait();
  EXPECT_EQ(chain.length, scaled(50'000) + 1);
}

TEST_P(Go, starts_goroutines_from_goroutines_of_every_depth) {
  std::atomic<int> leaves{0};
  weft::wait_group group;
  std::function<void(int)> tree = [&](int depth) {
    if (depth == 0) {
      ++leaves;
      return;
    }
    for (int i = 0; i < 4; ++i) group.go([&tree, depth] { tree(depth - 1); });
  };
  group.go([&] { tree(kSanitized ? 4 : 6); });
  group.wait();
  EXPECT_EQ(leaves, kSanitized ? 256 : 4096);
}

TEST_P(Go, options_set_the_name) {
  weft::event started, finish;
  weft::go(weft::go_options{.name = "the named one"}, [&] {
    started.set();
    finish.wait();
  });
  started.wait();
  EXPECT_NE(dump_text().find("\"the named one\""), std::string::npos);
  finish.set();
}

// Frames of 16 KiB each, none optimised away.
__attribute__((noinline)) int use_stack(int frames) {
  volatile char space[16 * 1024];
  space[0] = static_cast<char>(frames);
  return frames == 0 ? 0 : use_stack(frames - 1) + (space[0] == static_cast<char>(frames) ? 1 : 0);
}

TEST_P(Go, options_set_the_stack_size) {
  weft::wait_group group;
  for (int round = 0; round < 20; ++round) {
    group.add(1);
    weft::go(weft::go_options{.stack_size = 4 * 1024 * 1024}, [&] {
      EXPECT_EQ(use_stack(200), 200);  // 3.2 MiB
      group.done();
    });
    group.wait();
  }
  // Smaller than any stack can be: the least there is.
  group.add(1);
  weft::go(weft::go_options{.stack_size = 1}, [&] { group.done(); });
  group.wait();
  EXPECT_THROW(weft::go(weft::go_options{.stack_size = SIZE_MAX}, [] {}), std::bad_alloc);
  EXPECT_THROW(weft::go(weft::go_options{.stack_size = SIZE_MAX / 2}, [] {}), std::bad_alloc);
}

TEST_P(Go, stacks_of_their_own_size_are_used_again) {
  const auto burst = [] {
    weft::wait_group group;
    for (int i = 0; i < 100; ++i) {
      group.add(1);
      weft::go(weft::go_options{.stack_size = 600'000}, [&group] {
        use_stack(30);
        group.done();
      });
    }
    group.wait();
  };
  for (int i = 0; i < 3; ++i) burst();
  const std::size_t before = resident_bytes();
  for (int i = 0; i < scaled(30); ++i) burst();
  const std::size_t after = resident_bytes();
  EXPECT_LT(after, before + 100'000'000) << "3000 goroutines in turn, at most 100 at once";
}

TEST_P(Go, options_can_ask_for_idle_priority) {
  weft::event ran;
  weft::go(weft::go_options{.name = "background", .idle = true}, [&] {
    weft::this_goroutine::yield();
    weft::this_goroutine::sleep_for(1ms);
    ran.set();
  });
  EXPECT_TRUE(ran.wait_for(10s * kSlowdown)) << "with nothing else to run it must run";
}

TEST_P(Go, idle_goroutines_run_only_when_nothing_else_can) {
  // As many busy goroutines as Ps, none of which waits; meanwhile the idle one must not run.
  std::atomic<bool> stop{false}, idle_ran{false}, too_early{false};
  std::atomic<int> busy{0};
  weft::wait_group group;
  weft::run([&] {
    for (int i = 0; i < 2 * procs(); ++i) {
      group.go([&] {
        ++busy;
        while (!stop) weft::this_goroutine::yield();
        if (idle_ran) too_early = true;
      });
    }
    EXPECT_TRUE(spin_until([&] { return busy == 2 * procs(); }));
    weft::event idle_done;
    weft::go(weft::go_options{.idle = true}, [&] {
      idle_ran = true;
      idle_done.set();
    });
    const auto end = Clock::now() + 20ms;
    while (Clock::now() < end) weft::this_goroutine::yield();
    if (procs() == 1) {
      EXPECT_FALSE(idle_ran) << "others were runnable all the time";
    }
    stop = true;
    group.wait();
    EXPECT_TRUE(idle_done.wait_for(10s * kSlowdown));
    if (procs() == 1) {
      EXPECT_FALSE(too_early);
    }
  });
}

}  // namespace
