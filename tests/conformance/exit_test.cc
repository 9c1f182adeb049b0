// SPDX-License-Identifier: MIT
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// this_goroutine::exit (DL13): frames unwind, destructors run, no handler ends it. Names.
namespace {

using namespace weft::test;

class Exit : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Exit);

struct Note {
  std::string& log;
  char letter;
  ~Note() { log += letter; }
};

__attribute__((noinline)) void leave_from_deep_inside(int depth, std::string& log) {
  const Note note{log, static_cast<char>('a' + depth)};
  if (depth < 0) return;  // never: the compiler is not to see that nothing returns
  if (depth == 0) weft::this_goroutine::exit();
  leave_from_deep_inside(depth - 1, log);
}

TEST_P(Exit, runs_the_destructors_of_all_frames_from_the_inside_out) {
  std::string log;
  bool went_on = false;
  weft::wait_group group;
  group.go([&] {
    const Note outer{log, 'z'};
    leave_from_deep_inside(5, log);
    went_on = true;
  });
  group.wait();
  EXPECT_EQ(log, "abcdefz");
  EXPECT_FALSE(went_on);
}

TEST_P(Exit, is_no_exception_to_be_caught_by_type) {
  std::string log;
  weft::wait_group group;
  group.go([&] {
    try {
      weft::this_goroutine::exit();
    } catch (const std::exception&) {
      log += "std::exception ";
    } catch (int) {
      log += "int ";
    }
    log += "went on";
  });
  group.wait();
  EXPECT_EQ(log, "");
}

TEST_P(Exit, goes_on_when_a_handler_for_everything_rethrows_it) {
  std::string log;
  weft::wait_group group;
  group.go([&] {
    const Note outer{log, 'z'};
    try {
      try {
        const Note inner{log, 'a'};
        weft::this_goroutine::exit();
      } catch (...) {
        log += 'b';
        weft::this_goroutine::yield();  // a handler may do what it likes before it rethrows
        throw;
      }
    } catch (...) {
      log += 'c';
      throw;
    }
    log += "went on";
  });
  group.wait();
  EXPECT_EQ(log, "abcz");
}

TEST_P(Exit, destructors_may_park) {
  struct Parks {
    std::string& log;
    ~Parks() {
      weft::this_goroutine::sleep_for(1ms);
      weft::spawn([] {}).join();
      weft::blocking([] { usleep(100); });
      log += 'p';
    }
  };
  std::string log;
  weft::wait_group group;
  group.go([&] {
    const Note outer{log, 'z'};
    const Parks inner{log};
    weft::this_goroutine::exit();
  });
  group.wait();
  EXPECT_EQ(log, "pz");
}

TEST_P(Exit, works_inside_a_handler_of_another_exception) {
  std::string log;
  weft::wait_group group;
  group.go([&] {
    const Note outer{log, 'z'};
    try {
      throw std::runtime_error("first");
    } catch (const std::exception&) {
      const Note inner{log, 'a'};
      weft::this_goroutine::exit();
    }
  });
  group.wait();
  EXPECT_EQ(log, "az");
  // The next goroutine on that stack starts with a clean slate.
  weft::spawn([] {
    EXPECT_EQ(std::current_exception(), nullptr);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  }).join();
}

TEST_P(Exit, exceptions_thrown_and_caught_by_destructors_do_not_stop_it) {
  struct Catches {
    std::string& log;
    ~Catches() {
      try {
        throw std::runtime_error("inside");
      } catch (const std::exception& error) {
        log += error.what();
      }
    }
  };
  std::string log;
  weft::wait_group group;
  group.go([&] {
    const Note outer{log, 'z'};
    const Catches inner{log};
    weft::this_goroutine::exit();
  });
  group.wait();
  EXPECT_EQ(log, "insidez");
}

TEST_P(Exit, the_closure_and_the_count_are_given_back) {
  weft::wait_group group;
  const int count = scaled(2000);
  std::atomic<int> unwound{0};
  struct Unwound {
    std::atomic<int>& counter;
    ~Unwound() { ++counter; }
  };
  for (int i = 0; i < count; ++i) {
    group.add(1);
    weft::go([&, i, counted = Counted()] {
      const Unwound note{unwound};
      if (i % 2 == 0) weft::this_goroutine::yield();
      group.done();
      weft::this_goroutine::exit();
    });
  }
  group.wait();
  EXPECT_TRUE(spin_until([&] { return unwound == count && Counted::alive == 0; })) << unwound << " " << Counted::alive;
}

TEST_P(Exit, needs_a_goroutine) { EXPECT_THROW(weft::this_goroutine::exit(), weft::logic_error); }

TEST_P(Exit, lets_others_go_on) {
  weft::event go_on, done;
  weft::go([&] {
    go_on.wait();
    done.set();
  });
  weft::wait_group group;
  group.go([&] {
    go_on.set();
    weft::this_goroutine::exit();
  });
  group.wait();
  EXPECT_TRUE(done.wait_for(10s));
}

TEST_P(Exit, names_show_up_in_dumps_and_do_not_pass_to_the_next) {
  weft::run([] {
    weft::this_goroutine::set_name("first name");
    EXPECT_NE(dump_text().find("\"first name\""), std::string::npos);
    weft::this_goroutine::set_name(std::string(300, 'n'));
    EXPECT_NE(dump_text().find("\"nnnn"), std::string::npos);
    weft::this_goroutine::set_name("last name");
    const std::string text = dump_text();
    EXPECT_NE(text.find("\"last name\""), std::string::npos);
    EXPECT_EQ(text.find("\"first name\""), std::string::npos);
  });
  weft::run([] { EXPECT_EQ(dump_text().find("\"last name\""), std::string::npos); });
  EXPECT_THROW(weft::this_goroutine::set_name("thread"), weft::logic_error);
}

}  // namespace
