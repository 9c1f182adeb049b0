// SPDX-License-Identifier: MIT
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// once_flag and call_once (SY12).
namespace {

using namespace weft::test;

class Once : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Once);

TEST_P(Once, runs_once_and_everybody_sees_its_effect) {
  for (int round = 0; round < scaled(100); ++round) {
    weft::once_flag flag;
    int value = 0;  // plain: the flag orders the accesses
    const auto call = [&] {
      weft::call_once(flag, [&] { ++value; });
      ASSERT_EQ(value, 1);
    };
    weft::wait_group group;
    for (int i = 0; i < 10; ++i) group.go(call);
    std::thread thread(call);
    thread.join();
    group.wait();
  }
}

TEST_P(Once, others_wait_while_the_function_parks) {
  weft::run([] {
    weft::once_flag flag;
    bool finished = false;
    weft::event begun;
    weft::wait_group group;
    group.go([&] {
      weft::call_once(flag, [&] {
        begun.set();
        weft::this_goroutine::sleep_for(50ms);
        finished = true;
      });
    });
    begun.wait();
    for (int i = 0; i < 10; ++i) {
      group.go([&] {
        weft::call_once(flag, [] { FAIL() << "ran twice"; });
        EXPECT_TRUE(finished);
      });
    }
    weft::call_once(flag, [] { FAIL() << "ran twice"; });
    EXPECT_TRUE(finished);
    group.wait();
  });
}

TEST_P(Once, passes_arguments_and_invokes_members) {
  struct Target {
    void set(std::unique_ptr<int> to) { value = *to; }
    int value = 0;
  } target;
  weft::once_flag flag;
  weft::call_once(flag, &Target::set, target, std::make_unique<int>(7));
  EXPECT_EQ(target.value, 7);
  weft::call_once(flag, &Target::set, target, std::make_unique<int>(8));
  EXPECT_EQ(target.value, 7);
}

TEST_P(Once, after_an_exception_the_next_one_tries) {
  weft::once_flag flag;
  std::atomic<int> tries{0}, failures{0};
  const auto call = [&] {
    try {
      weft::call_once(flag, [&] {
        weft::this_goroutine::yield();
        if (++tries < 5) throw std::runtime_error("not yet");
      });
      ASSERT_EQ(tries, 5);
    } catch (const std::runtime_error&) {
      ++failures;
    }
  };
  weft::wait_group group;
  for (int i = 0; i < 20; ++i) group.go(call);
  std::thread thread(call);
  thread.join();
  group.wait();
  EXPECT_EQ(tries, 5);
  EXPECT_EQ(failures, 4);
}

TEST_P(Once, an_exit_counts_as_failure) {
  weft::once_flag flag;
  weft::spawn([] {}).join();
  weft::task<void> leaving = weft::spawn([&] { weft::call_once(flag, [] { weft::this_goroutine::exit(); }); });
  EXPECT_THROW(leaving.join(), weft::goroutine_exited);
  bool ran = false;
  weft::call_once(flag, [&] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
