// SPDX-License-Identifier: MIT
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/io.h>
#include <weft/net.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "support/runtime_test.h"

// Foreign descriptors, files, signals, child processes.
namespace {

using namespace weft::test;
namespace io = weft::io;
namespace net = weft::net;

class Io : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Io);

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

struct TemporaryFile {
  std::string path = "/tmp/weft-io-XXXXXX";
  TemporaryFile() { ::close(mkstemp(path.data())); }
  ~TemporaryFile() { unlink(path.c_str()); }
};

TEST_P(Io, waits_for_foreign_descriptors) {
  weft::run([] {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_TRUE(io::wait_writable(ends[1]));
    EXPECT_FALSE(io::wait_readable(ends[0], Clock::now()));
    const auto start = Clock::now();
    EXPECT_FALSE(io::wait_readable(ends[0], start + 10ms));
    EXPECT_GE(Clock::now() - start, 10ms);
    // Two at once, both woken; the data stays.
    weft::wait_group both;
    for (int i = 0; i < 2; ++i) both.go([&] { EXPECT_TRUE(io::wait_readable(ends[0])); });
    EXPECT_FALSE(both.wait_for(3ms));
    ASSERT_EQ(write(ends[1], "x", 1), 1);
    both.wait();
    char got;
    ASSERT_EQ(read(ends[0], &got, 1), 1);
    // The other end's closing counts.
    auto hung_up = weft::spawn([&] { return io::wait_readable(ends[0]); });
    EXPECT_FALSE(hung_up.wait_for(2ms));
    close(ends[1]);
    EXPECT_TRUE(hung_up.join());
    close(ends[0]);
    EXPECT_THROW(io::wait_readable(ends[0]), std::system_error);
    const int counter = eventfd(0, EFD_CLOEXEC);
    auto counted = weft::spawn([&] { return io::wait_readable(counter); });
    EXPECT_FALSE(counted.wait_for(2ms));
    const std::uint64_t one = 1;
    ASSERT_EQ(write(counter, &one, sizeof one), static_cast<ssize_t>(sizeof one));
    EXPECT_TRUE(counted.join());
    close(counter);
  });
}

TEST_P(Io, files_are_read_and_written) {
  weft::run([] {
    const TemporaryFile temporary;
    {
      io::file out = io::open(temporary.path, io::mode::write);
      out.write("hello ");
      EXPECT_EQ(out.write("world"), 5u);
      EXPECT_EQ(out.write_at(0, bytes("HEL")), 3u);
      EXPECT_EQ(out.write_at(bytes("LO"), 3), 2u);
      out.sync();
      EXPECT_EQ(out.size(), 11u);
    }
    {
      io::file more = io::open(temporary.path, io::mode::append);
      more.write("!");
    }
    io::file in = io::open(temporary.path);
    std::array<char, 64> buffer;
    EXPECT_EQ(in.read(std::as_writable_bytes(std::span(buffer))), 12u);
    EXPECT_EQ(std::string(buffer.data(), 12), "HELLO world!");
    EXPECT_EQ(in.read(std::as_writable_bytes(std::span(buffer))), 0u);
    EXPECT_EQ(in.read_at(6, std::as_writable_bytes(std::span(buffer).first(5))), 5u);
    EXPECT_EQ(std::string(buffer.data(), 5), "world");
    EXPECT_EQ(in.read_at(std::as_writable_bytes(std::span(buffer)), 11), 1u);
    EXPECT_EQ(buffer[0], '!');
    EXPECT_THROW(in.write("x"), std::system_error);
    EXPECT_THROW(io::open("/nonexistent/file"), std::system_error);
    EXPECT_THROW(io::open(temporary.path, io::mode::write | io::mode::exclusive), std::system_error);
  });
}

TEST_P(Io, a_file_that_blocks_does_not_stop_others) {
  weft::run([] {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    io::file in(ends[0]);
    auto reader = weft::spawn([&] {
      std::array<std::byte, 1> buffer;
      return in.read(buffer);  // a blocking descriptor: the thread waits in read(2)
    });
    for (int i = 0; i < 10; ++i) weft::this_goroutine::sleep_for(1ms);
    EXPECT_FALSE(reader.ready());
    ASSERT_EQ(write(ends[1], "x", 1), 1);
    EXPECT_EQ(reader.join(), 1u);
    close(ends[1]);
  });
}

// The latest of `count` ticks of a millisecond.
template <class SleepUntil>
Clock::duration latest_tick(int count, SleepUntil sleep_until) {
  Clock::duration latest{0};
  auto due = Clock::now();
  for (int i = 0; i < count; ++i) {
    due += 1ms;
    sleep_until(due);
    latest = std::max(latest, Clock::now() - due);
  }
  return latest;
}

// With two Ps or more, not later than 5 ms. What the machine itself delays, it delays for a plain thread as well: then nothing is shown.
TEST_P(Io, a_ticker_keeps_time_beside_reads_that_block) {
  if (procs() < 2) GTEST_SKIP() << "one P is taken from a call after the monitor's next look";
  int shown = 0, late = 0;
  weft::run([&] {
    constexpr std::size_t kReaders = 8;
    std::array<std::array<int, 2>, kReaders> pipes;
    weft::wait_group readers;
    for (std::size_t i = 0; i < kReaders; ++i) {
      ASSERT_EQ(pipe(pipes[i].data()), 0);
      readers.go([fd = pipes[i][0], i] {
        io::file in(fd);
        std::byte one;
        const auto read_directly = [&] { return weft::blocking([&] { return ::read(fd, &one, 1); }); };
        while ((i % 2 == 0 ? static_cast<ssize_t>(in.read(std::span(&one, 1))) : read_directly()) == 1) {
        }
      });
    }
    std::atomic<bool> stop{false};
    std::thread writer([&] {
      while (!stop) {
        std::this_thread::sleep_for(3ms);
        for (const auto& ends : pipes) EXPECT_EQ(::write(ends[1], "x", 1), 1);
      }
      for (const auto& ends : pipes) close(ends[1]);
    });
    for (int attempt = 0; attempt < 12 && shown == late; ++attempt) {
      Clock::duration own{0};
      std::thread plain([&] { own = latest_tick(150, [](auto due) { std::this_thread::sleep_until(due); }); });
      const auto latest = latest_tick(150, [](auto due) { weft::this_goroutine::sleep_until(due); });
      weft::blocking([&] { plain.join(); });
      if (own > 2ms) continue;
      ++shown;
      if (latest > 5ms) ++late;
    }
    stop = true;
    weft::blocking([&] { writer.join(); });
    readers.wait();
  });
  if (shown == 0) GTEST_SKIP() << "the machine delays plain threads, too";
  EXPECT_LT(late, shown) << "always later than 5 ms";
}

TEST_P(Io, sends_a_file_through_a_socket) {
  weft::run([] {
    const TemporaryFile temporary;
    std::string text;
    for (int i = 0; text.size() < 500'000; ++i) text += std::to_string(i) + "\n";
    io::open(temporary.path, io::mode::write).write(text);
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    auto sender = weft::spawn([&] {
      net::conn to = net::dial("tcp", listener.address().to_string());
      io::file from = io::open(temporary.path);
      EXPECT_EQ(to.send_file(from.native_handle(), 10, 1'000'000), text.size() - 10);
    });
    net::conn connection = listener.accept();
    std::string got;
    std::array<char, 5000> buffer;
    while (const std::size_t size = connection.read(std::span<char>(buffer))) got.append(buffer.data(), size);
    sender.join();
    EXPECT_EQ(got, text.substr(10));
  });
}

TEST_P(Io, signals_arrive_in_channels) {
  weft::run([] {
    weft::chan<int> one = io::signals({SIGUSR1, SIGUSR2}), two = io::signals({SIGUSR1});
    kill(getpid(), SIGUSR1);
    EXPECT_EQ(one.recv(), SIGUSR1);
    EXPECT_EQ(two.recv(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    EXPECT_EQ(one.recv(), SIGUSR2);
    EXPECT_EQ(two.recv_for(2ms).status, weft::chan_status::empty);
    io::stop_signals(one);
    EXPECT_EQ(one.recv(), std::nullopt);
    kill(getpid(), SIGUSR1);
    EXPECT_EQ(two.recv(), SIGUSR1);
    io::stop_signals(two);
    EXPECT_THROW(io::signals({SIGKILL}), std::invalid_argument);
  });
}

TEST_P(Io, a_channel_of_signals_that_its_user_closes_gets_no_more) {
  weft::run([] {
    weft::chan<int> closed = io::signals({SIGUSR1}), other = io::signals({SIGUSR1});
    closed.close();
    for (int i = 0; i < 3; ++i) {
      kill(getpid(), SIGUSR1);
      EXPECT_EQ(other.recv(), SIGUSR1);
    }
    EXPECT_EQ(closed.recv(), std::nullopt);
    io::stop_signals(closed);
    kill(getpid(), SIGUSR1);
    EXPECT_EQ(other.recv(), SIGUSR1);
    io::stop_signals(other);
  });
}

TEST_P(Io, waiting_for_children_parks_only_the_goroutine) {
  weft::run([] {
    io::process slow = io::start({"sleep", "0.05"});
    auto waiting = weft::spawn([&] { return slow.wait(); });
    for (int i = 0; i < 3; ++i) weft::this_goroutine::sleep_for(1ms);
    EXPECT_EQ(waiting.join(), 0);
    EXPECT_EQ(io::start({"sh", "-c", "exit 7"}).wait(), 7);
    io::process stuck = io::start({"sleep", "100"});
    EXPECT_EQ(stuck.wait_until(Clock::now() + 5ms), std::nullopt);
    stuck.kill(SIGTERM);
    EXPECT_EQ(stuck.wait(), 128 + SIGTERM);
    EXPECT_EQ(stuck.wait(), 128 + SIGTERM);
    EXPECT_THROW(io::start({"/nonexistent/program"}), std::system_error);
    weft::wait_group all;
    for (int i = 0; i < scaled(20); ++i) all.go([] { EXPECT_EQ(io::start({"true"}).wait(), 0); });
    all.wait();
  });
}

}  // namespace
