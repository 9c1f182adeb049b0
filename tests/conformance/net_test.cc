// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <sys/socket.h>
#include <unistd.h>
#include <weft/net.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/sockets.h"

// Connections: echo, whole writes, many at once, plain threads, descriptors of others, computing beside them. (behaviours NP01, NP22)
namespace {

using namespace weft::test;
namespace net = weft::net;

WEFT_AT_ALL_CONFIGURATIONS(Net);

void echo(net::conn connection) {
  std::vector<std::byte> buffer(4096);
  while (const std::size_t size = connection.read(buffer)) connection.write_all(std::span(buffer).first(size));
}

TEST_P(Net, echoes_on_two_connections) {  // NP01
  weft::run([] {
    for (const char* network : {"tcp", "unix"}) {
      net::listener listener = net::listen(network, network[0] == 'u' ? unix_name() : "127.0.0.1:0");
      weft::wait_group all;
      all.go([&] {
        for (int i = 0; i < 2; ++i)
          weft::go([connection = listener.accept()]() mutable { echo(std::move(connection)); });
      });
      for (int i = 0; i < 2; ++i)
        all.go([&, i] {
          net::conn connection = net::dial(network, listener.address().to_string());
          std::vector<std::byte> out(512), in(512);
          for (int round = 0; round < scaled(2000); ++round) {
            for (std::size_t k = 0; k < out.size(); ++k)
              out[k] = static_cast<std::byte>(static_cast<int>(k) * 7 + round + i);
            connection.write_all(out);
            ASSERT_EQ(connection.read_full(in), in.size());
            ASSERT_EQ(in, out);
          }
        });
      all.wait();
    }
  });
}

TEST_P(Net, writes_are_whole_and_ordered_against_slow_readers) {  // NP22 in small
  weft::run([] {
    Pair pair = connect_pair();
    std::vector<std::byte> data(scaled(8 << 20));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 2654435761u >> 13);
    auto writer = weft::spawn([&] {
      const std::array<std::span<const std::byte>, 4> parts = {
          std::span(data).first(10), {}, std::span(data).subspan(10, 100'000), std::span(data).subspan(100'010)};
      pair.client.writev(parts);
      pair.client.write_all(data);
      pair.client.close();
    });
    std::vector<std::byte> got;
    std::vector<std::byte> head(1000), tail(50'000);
    const std::array<std::span<std::byte>, 2> both = {head, tail};
    while (const std::size_t size = pair.server.readv(both)) {
      got.insert(got.end(), head.begin(), head.begin() + static_cast<long>(std::min(size, head.size())));
      if (size > head.size()) got.insert(got.end(), tail.begin(), tail.begin() + static_cast<long>(size - head.size()));
      if (got.size() % 7 == 0) weft::this_goroutine::yield();
    }
    writer.join();
    ASSERT_EQ(got.size(), 2 * data.size());
    EXPECT_TRUE(std::equal(data.begin(), data.end(), got.begin()));
    EXPECT_TRUE(std::equal(data.begin(), data.end(), got.begin() + static_cast<long>(data.size())));
  });
}

TEST_P(Net, many_connections_come_and_go_and_numbers_are_reused) {
  weft::run([] {
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    std::atomic<int> served{0};
    auto server = weft::spawn([&] {
      for (;;) {
        std::error_code error;
        net::conn connection = listener.accept(error);
        if (error) return;
        weft::go([&served, connection = std::move(connection)]() mutable {
          std::array<std::byte, 64> buffer;
          std::error_code ignored;
          while (const std::size_t size = connection.read(buffer, ignored))
            connection.write_all(std::span(buffer).first(size), ignored);
          ++served;
        });
      }
    });
    weft::wait_group clients;
    const int each = scaled(100);
    for (int i = 0; i < 8; ++i)
      clients.go([&, i] {
        for (int k = 0; k < each; ++k) {
          net::conn connection = net::dial("tcp", listener.address().to_string());
          std::string text = std::to_string(i) + ":" + std::to_string(k);
          connection.write(text);
          std::string back(text.size(), ' ');
          ASSERT_EQ(connection.read_full(std::as_writable_bytes(std::span(back))), text.size());
          ASSERT_EQ(back, text);
        }
      });
    clients.wait();
    EXPECT_TRUE(spin_until([&] { return served == 8 * each; }));
    listener.close();
    server.join();
  });
}

TEST_P(Net, plain_threads_use_sockets_too) {
  net::listener listener = net::listen("tcp", "127.0.0.1:0");
  std::thread client([&] {
    net::conn connection = net::dial("tcp", listener.address().to_string());
    connection.write("thread");
    std::array<std::byte, 8> buffer;
    EXPECT_EQ(connection.read(buffer), 2u);
    connection.set_read_deadline(Clock::now() + 5ms);
    EXPECT_EQ(error_of_read(connection), std::errc::timed_out);
  });
  net::conn accepted = listener.accept();
  std::array<std::byte, 6> buffer;
  EXPECT_EQ(accepted.read_full(buffer), 6u);
  accepted.write("ok");
  client.join();
}

TEST_P(Net, descriptors_are_taken_over_and_given_back) {
  weft::run([] {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    net::conn one = net::conn::from_fd(ends[0]), two = net::conn::from_fd(ends[1]);
    auto reader = weft::spawn([&] { return error_of_read(two); });
    EXPECT_FALSE(reader.wait_for(2ms));
    const int back = two.release();
    EXPECT_EQ(reader.join(), std::errc::bad_file_descriptor);
    EXPECT_FALSE(two.is_open());
    one.write("z");
    char got = 0;
    EXPECT_EQ(::read(back, &got, 1), 1);
    EXPECT_EQ(got, 'z');
    ::close(back);
    std::error_code error;
    EXPECT_FALSE(net::conn::from_fd(-1, error));
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    // Pipes can be waited for as well.
    ASSERT_EQ(pipe(ends), 0);
    net::conn in = net::conn::from_fd(ends[0]), out = net::conn::from_fd(ends[1]);
    auto waiting = weft::spawn([&] { return error_of_read(in); });
    EXPECT_FALSE(waiting.wait_for(2ms));
    out.write("p");
    EXPECT_FALSE(waiting.join());
  });
}

TEST_P(Net, io_goes_on_beside_goroutines_that_compute) {
  weft::run([] {
    Pair pair = connect_pair();
    std::atomic<bool> stop{false};
    weft::wait_group hogs;
    for (int i = 0; i < procs(); ++i)
      hogs.go([&] {
        while (!stop) weft::preempt_point();
      });
    weft::go([server = std::move(pair.server)]() mutable { echo(std::move(server)); });
    for (int i = 0; i < 5; ++i) {
      pair.client.write("x");
      EXPECT_FALSE(error_of_read(pair.client));
    }
    stop = true;
    hogs.wait();
    pair.client.close();
  });
}

}  // namespace
