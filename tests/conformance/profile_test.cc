// SPDX-License-Identifier: MIT
#include <weft/debug.h>
#include <weft/trace.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// Profiles in pprof's format. Names of functions and labels stand in the unpacked file as they are.
namespace {

using namespace weft::test;
namespace fs = std::filesystem;

class Profiles : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Profiles);

class File {
 public:
  File() : path_(fs::path(testing::TempDir()) / ("profile_test." + std::to_string(getpid()) + ".pb.gz")) {}
  ~File() { fs::remove(path_); }
  const fs::path& path() const { return path_; }

  std::string unpacked() const {
    return output_of("python3 -c 'import gzip,sys;sys.stdout.buffer.write(gzip.open(sys.argv[1]).read())' " +
                     path_.string());
  }
  static std::string output_of(const std::string& command) {
    FILE* pipe = popen(command.c_str(), "r");
    std::string text;
    char block[4096];
    for (std::size_t size; (size = std::fread(block, 1, sizeof block, pipe)) > 0;) text.append(block, size);
    EXPECT_EQ(pclose(pipe), 0) << command << ": " << text;
    return text;
  }
  void write(weft::debug::profile kind) const {
    std::ofstream out(path_, std::ios::binary);
    weft::debug::write_profile(kind, out);
  }

 private:
  fs::path path_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

template <int>
__attribute__((noinline)) void function_that_computes(Clock::duration duration) {
  compute_for(duration);
  asm volatile("");
}
__attribute__((noinline)) void function_that_waits_in_a_profile(weft::event& event) {
  event.wait();
  asm volatile("");
}

TEST_P(Profiles, a_cpu_profile_shows_goroutines_hogs_and_plain_threads_with_labels) {
  const File file;
  // Until each was seen: on a busy machine a short time of computing may see no sample.
  std::string text;
  const bool found = holds_in_time(150ms, [&](Clock::duration unit) {
    weft::debug::start_cpu_profile(file.path(), 1000);
    std::thread plain([&] {
      const weft::labels work{{"kind", "a plain thread"}};
      function_that_computes<2>(unit);
    });
    weft::run([&] {
      const weft::labels work{{"user", "alice of the test"}};
      weft::task<void> gives_way = weft::spawn({.name = "gives way"}, [&] {
        for (Stopwatch watch; watch.elapsed() < unit;) {
          function_that_computes<1>(1ms);
          weft::this_goroutine::yield();
        }
      });
      weft::task<void> hog = weft::spawn({.name = "hog of the test"}, [&] { function_that_computes<3>(unit); });
      gives_way.join();
      hog.join();
    });
    plain.join();
    weft::debug::stop_cpu_profile();
    text = file.unpacked();
    return has(text, "function_that_computes") && has(text, "alice of the test") && has(text, "a plain thread") &&
           has(text, "hog of the test") && has(text, "gives way") && has(text, "spawn_site");
  });
  EXPECT_TRUE(found) << text.size();
}

TEST_P(Profiles, samples_add_up_to_the_cpu_time) {
  if (std::system("go version > /dev/null 2>&1") != 0) GTEST_SKIP() << "go is not installed";
  const File file;
  weft::debug::start_cpu_profile(file.path());
  const std::clock_t begin = std::clock();
  weft::run([] { function_that_computes<4>(1s); });
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  weft::debug::stop_cpu_profile();
  const std::string text = File::output_of("go tool pprof -raw " + file.path().string() + " 2>&1");
  std::int64_t total = 0;
  std::size_t at = text.find("Samples:");
  for (at = text.find('\n', text.find("samples/count", at)); at != std::string::npos; at = text.find('\n', at + 1)) {
    long long samples = 0, ns = 0;
    if (std::sscanf(text.c_str() + at + 1, " %lld %lld:", &samples, &ns) == 2) total += ns;
    if (text.compare(at + 1, 9, "Locations") == 0) break;
  }
  EXPECT_GT(static_cast<double>(total) / 1e9, seconds * 0.8) << text;
  EXPECT_LT(static_cast<double>(total) / 1e9, seconds * 1.2 + 0.1) << text;
}

TEST_P(Profiles, a_goroutine_profile_shows_stacks_states_and_labels) {
  const File file;
  weft::run([&] {
    weft::event end;
    const weft::labels work{{"user", "bob of the test"}};
    weft::task<void> waits = weft::spawn({.name = "waits in the profile"}, [&] { function_that_waits_in_a_profile(end); });
    std::string text;
    EXPECT_TRUE(spin_until([&] {
      file.write(weft::debug::profile::goroutine);
      text = file.unpacked();
      return has(text, "function_that_waits_in_a_profile") && has(text, "waits in the profile") && has(text, "event") &&
             has(text, "bob of the test") && has(text, "profile_test.cc:");
    })) << text;
    end.set();
  });
}

__attribute__((noinline)) void function_that_holds_the_lock(weft::event& event) {
  event.wait();
  asm volatile("");
}
__attribute__((noinline)) void function_that_wants_the_lock(weft::mutex& lock) {
  lock.lock();
  lock.unlock();
  asm volatile("");
}

TEST_P(Profiles, waits_are_shown_at_the_waiter_and_at_the_holder_of_the_lock) {
  const File file;
  weft::run([&] {
    weft::event end, locked;
    weft::mutex lock;
    weft::task<void> holds = weft::spawn({.name = "holds"}, [&] {
      const std::lock_guard guard(lock);
      locked.set();
      function_that_holds_the_lock(end);
    });
    locked.wait();
    weft::task<void> wants = weft::spawn({.name = "wants"}, [&] { function_that_wants_the_lock(lock); });
    std::string block, mutex;
    EXPECT_TRUE(spin_until([&] {
      file.write(weft::debug::profile::block);
      block = file.unpacked();
      return has(block, "function_that_wants_the_lock") && has(block, "mutex lock");
    })) << block;
    EXPECT_TRUE(has(block, "function_that_holds_the_lock"));
    file.write(weft::debug::profile::mutex);
    mutex = file.unpacked();
    EXPECT_TRUE(has(mutex, "function_that_holds_the_lock") && has(mutex, "contentions") && has(mutex, "delay")) << mutex;
    EXPECT_FALSE(has(mutex, "function_that_wants_the_lock")) << mutex;
    end.set();
    wants.join();
    holds.join();
    file.write(weft::debug::profile::mutex);
    EXPECT_FALSE(has(file.unpacked(), "function_that_holds_the_lock"));
  });
}

TEST_P(Profiles, a_thread_profile_shows_the_threads_of_the_runtime) {
  const File file;
  file.write(weft::debug::profile::thread);
  EXPECT_TRUE(has(file.unpacked(), "weft-sysmon"));
}

TEST_P(Profiles, wrong_calls_are_refused) {
  const File file;
  EXPECT_THROW(weft::debug::stop_cpu_profile(), weft::logic_error);
  EXPECT_THROW(weft::debug::start_cpu_profile("/no such directory/file"), std::system_error);
  EXPECT_THROW(weft::debug::start_cpu_profile(file.path(), 0), weft::logic_error);
  weft::debug::start_cpu_profile(file.path());
  EXPECT_THROW(weft::debug::start_cpu_profile(file.path()), weft::logic_error);
  weft::debug::stop_cpu_profile();
  EXPECT_THROW(weft::debug::stop_cpu_profile(), weft::logic_error);
}

}  // namespace
