// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/net.h>

#include <array>
#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/sockets.h"

// Sockets: echo, deadlines, closing, half-closing, both directions, datagrams, dialling. (behaviours NP01-NP19)
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

TEST_P(Net, a_past_deadline_fails_with_data_there_and_clearing_it_lets_calls_block_again) {  // NP02, NP03
  weft::run([] {
    Pair pair = connect_pair();
    pair.client.write("x");
    pair.server.set_read_deadline(Clock::now() - 1s);
    EXPECT_EQ(error_of_read(pair.server), std::errc::timed_out);
    EXPECT_EQ(error_of_read(pair.server), std::errc::timed_out);
    pair.server.set_read_deadline(weft::time_point::max());
    EXPECT_FALSE(error_of_read(pair.server));
    auto reader = weft::spawn([&] { return error_of_read(pair.server); });
    EXPECT_FALSE(reader.wait_for(5ms));
    pair.client.write("y");
    EXPECT_FALSE(reader.join());

    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    listener.set_deadline(Clock::now());
    std::error_code error;
    listener.accept(error);
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_THROW(listener.accept(), std::system_error);
  });
}

TEST_P(Net, deadlines_change_while_calls_wait) {  // NP04
  weft::run([] {
    Pair pair = connect_pair();
    const auto start = Clock::now();
    pair.server.set_read_deadline(start + 20ms);
    auto extended = weft::spawn([&] { return error_of_read(pair.server); });
    pair.server.set_read_deadline(start + 100ms);
    EXPECT_EQ(extended.join(), std::errc::timed_out);
    EXPECT_GE(Clock::now() - start, 100ms);

    pair.server.set_read_deadline(Clock::now() + 1h);
    auto shortened = weft::spawn([&] { return error_of_read(pair.server); });
    EXPECT_FALSE(shortened.wait_for(2ms));
    pair.server.set_read_deadline(Clock::now() + 1ms);
    EXPECT_EQ(shortened.join(), std::errc::timed_out);

    pair.server.set_read_deadline(Clock::now() + 20ms);
    auto cleared = weft::spawn([&] { return error_of_read(pair.server); });
    pair.server.set_read_deadline(weft::time_point::max());
    EXPECT_FALSE(cleared.wait_for(60ms));
    pair.client.write("z");
    EXPECT_FALSE(cleared.join());
  });
}

TEST_P(Net, three_goroutines_race_with_deadlines_reads_and_writes) {  // NP05
  weft::run([] {
    Pair pair = connect_pair();
    std::atomic<bool> stop{false};
    weft::wait_group all;
    all.go([&] {
      for (int i = 0; i < scaled(1000); ++i)
        pair.server.set_deadline(i % 3 == 0 ? weft::time_point::max()
                                            : Clock::now() + std::chrono::microseconds(i % 200));
      pair.server.set_deadline(Clock::now());
      stop = true;
    });
    all.go([&] {
      std::array<std::byte, 16> buffer;
      std::error_code error;
      while (!stop) {
        pair.server.read(buffer, error);
        if (error) {
          EXPECT_EQ(error, std::errc::timed_out);
        }
        weft::this_goroutine::yield();
      }
    });
    all.go([&] {
      std::error_code error;
      while (!stop) {
        pair.client.write("abc", error);
        weft::this_goroutine::yield();
      }
    });
    all.wait();
  });
}

TEST_P(Net, time_limits_are_kept) {  // NP06
  weft::run([] {
    Pair pair = connect_pair();
    for (const auto limit : {std::chrono::nanoseconds(1), std::chrono::nanoseconds(50'000),
                             std::chrono::nanoseconds(5'000'000), std::chrono::nanoseconds(100'000'000)}) {
      const bool kept = holds_in_time(50ms, [&](Clock::duration late) {
        const auto start = Clock::now();
        pair.server.set_read_deadline(start + limit);
        EXPECT_EQ(error_of_read(pair.server), std::errc::timed_out);
        EXPECT_GE(Clock::now() - start, limit);
        return Clock::now() - start < limit + late;
      });
      EXPECT_TRUE(kept) << limit.count();
    }
  });
}

TEST_P(Net, closing_wakes_a_reader) {  // NP07
  weft::run([] {
    for (const char* network : {"tcp", "unix"}) {
      for (int i = 0; i < scaled(300); ++i) {
        Pair pair = connect_pair(network);
        auto reader = weft::spawn([&] { return error_of_read(pair.server); });
        if (i % 3 == 0) weft::this_goroutine::yield();
        if (i % 100 == 50) weft::this_goroutine::sleep_for(1ms);
        pair.server.close();
        EXPECT_EQ(reader.join(), std::errc::bad_file_descriptor);
        EXPECT_EQ(error_of_read(pair.server), std::errc::bad_file_descriptor);
      }
    }
    for (int i = 0; i < scaled(300); ++i) {
      net::packet_conn socket = net::listen_packet("udp", "127.0.0.1:0");
      auto reader = weft::spawn([&] {
        std::array<std::byte, 8> buffer;
        net::address from;
        std::error_code error;
        socket.read_from(buffer, from, error);
        return error;
      });
      if (i % 2 == 0) weft::this_goroutine::yield();
      socket.close();
      EXPECT_EQ(reader.join(), std::errc::bad_file_descriptor);
    }
    Pair pair = connect_pair();
    pair.client.close();
    try {
      pair.client.write("x");
      ADD_FAILURE() << "a closed connection was written to";
    } catch (const std::system_error& error) {
      EXPECT_NE(std::string(error.what()).find("use of closed connection"), std::string::npos) << error.what();
    }
  });
}

TEST_P(Net, closing_a_listener_ends_all_acceptors) {  // NP08
  weft::run([] {
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    std::atomic<int> ended{0};
    weft::wait_group all;
    for (int i = 0; i < 10; ++i)
      all.go([&] {
        std::error_code error;
        listener.accept(error);
        if (error == std::errc::bad_file_descriptor) ++ended;
      });
    weft::this_goroutine::sleep_for(2ms);
    listener.close();
    all.wait();
    EXPECT_EQ(ended, 10);
  });
}

TEST_P(Net, half_closing_lets_the_other_half_go_on) {  // NP09, NP10
  weft::run([] {
    for (const char* network : {"tcp", "unix"}) {
      Pair pair = connect_pair(network);
      pair.client.write("question");
      pair.client.close_write();
      EXPECT_THROW(pair.client.write("more"), std::system_error);
      std::array<char, 64> buffer;
      std::string question;
      while (const std::size_t size = pair.server.read(std::span<char>(buffer))) question.append(buffer.data(), size);
      EXPECT_EQ(question, "question");
      pair.server.write("answer");
      pair.server.close();
      std::string answer;
      while (const std::size_t size = pair.client.read(std::span<char>(buffer))) answer.append(buffer.data(), size);
      EXPECT_EQ(answer, "answer");
    }
    Pair pair = connect_pair();
    EXPECT_EQ(pair.server.read(std::span<std::byte>()), 0u);
  });
}

TEST_P(Net, datagrams_arrive_whole_also_empty_ones) {  // NP10
  weft::run([] {
    for (const char* network : {"udp", "udp6", "unixgram"}) {
      const bool is_unix = network[0] == 'u' && network[1] == 'n';
      const auto where = [&] {
        return is_unix ? unix_name() : std::string(network) == "udp6" ? "[::1]:0" : "127.0.0.1:0";
      };
      std::error_code error;
      net::packet_conn one = net::listen_packet(network, where(), error);
      if (error) continue;  // no IPv6 here
      net::packet_conn two = net::listen_packet(network, where());
      std::array<std::byte, 64> buffer;
      net::address from;
      for (const char* text : {"", "hello", ""}) {
        one.write_to(bytes(text), two.local_address());
        EXPECT_EQ(two.read_from(buffer, from), std::string_view(text).size());
        EXPECT_EQ(from, one.local_address());
      }
      two.set_read_deadline(Clock::now());
      EXPECT_THROW(two.read_from(buffer, from), std::system_error);
    }
  });
}

TEST_P(Net, each_datagram_goes_to_one_of_100_readers) {  // NP16
  weft::run([] {
    net::packet_conn in = net::listen_packet("udp", "127.0.0.1:0"), out = net::listen_packet("udp", "127.0.0.1:0");
    const int count = scaled(1000);
    std::atomic<int> received{0};
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
    weft::wait_group readers;
    for (int i = 0; i < 100; ++i)
      readers.go([&] {
        for (;;) {
          std::uint32_t number = 0;
          net::address from;
          std::error_code error;
          const std::size_t size = in.read_from(std::as_writable_bytes(std::span(&number, 1)), from, error);
          if (error) return;
          if (size == sizeof number && number < seen.size()) ++seen[number];
          ++received;
        }
      });
    for (std::uint32_t i = 0; i < seen.size(); ++i) {
      out.write_to(std::as_bytes(std::span(&i, 1)), in.local_address());
      const bool pause = i % 50 == 49;  // keep the queue short
      EXPECT_TRUE(!pause || spin_until([&] { return received > static_cast<int>(i); }));
    }
    EXPECT_TRUE(spin_until([&] { return received == count; }));
    in.close();
    readers.wait();
    for (const auto& each : seen) EXPECT_EQ(each, 1);
  });
}

TEST_P(Net, a_reset_wakes_reader_and_writer) {  // NP16, NP19
  weft::run([] {
    Pair pair = connect_pair();
    auto reader = weft::spawn([&] { return error_of_read(pair.server); });
    auto writer = weft::spawn([&] {
      const std::vector<std::byte> much(1 << 20);
      std::error_code error;
      while (!error) pair.server.write_all(much, error);
      return error;
    });
    EXPECT_FALSE(writer.wait_for(5ms));
    pair.client.set_linger(0s);
    pair.client.close();
    const std::error_code seen = reader.join();  // the kernel tells once: behind the writer it is the end of the stream
    EXPECT_TRUE(!seen || seen == std::errc::connection_reset) << seen.message();
    const std::error_code error = writer.join();
    EXPECT_TRUE(error == std::errc::broken_pipe || error == std::errc::connection_reset) << error.message();
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

TEST_P(Net, dialling_fails_with_the_right_error_and_leaves_nothing) {  // NP13
  weft::run([] {
    std::uint16_t free_port;
    {
      net::listener listener = net::listen("tcp", "127.0.0.1:0");
      free_port = listener.port();
    }
    const std::string nobody = "127.0.0.1:" + std::to_string(free_port);
    const int before = count_descriptors();
    for (int i = 0; i < scaled(500); ++i) {
      std::error_code error;
      EXPECT_FALSE(net::dial("tcp", nobody, error));
      EXPECT_EQ(error, std::errc::connection_refused);
    }
    EXPECT_EQ(count_descriptors(), before);
    EXPECT_THROW(net::dial("unix", "/nonexistent/socket"), std::system_error);
    EXPECT_THROW(net::dial("smoke", "x"), std::invalid_argument);
    EXPECT_THROW(net::dial("tcp", "no port"), std::invalid_argument);
    EXPECT_THROW(net::dial("tcp", "::1:80"), std::invalid_argument);

    // A listener whose queue is full answers no more: time-outs and cancellation.
    const int full = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(bind(full, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(full, 0), 0);
    socklen_t size = sizeof address;
    getsockname(full, reinterpret_cast<sockaddr*>(&address), &size);
    const std::string busy = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    std::vector<net::conn> queued;
    std::error_code error;
    for (int i = 0; i < 8 && !error; ++i) {
      net::conn next = net::dial("tcp", busy, 50ms, error);
      if (!error) queued.push_back(std::move(next));
    }
    EXPECT_EQ(error, std::errc::timed_out);
    auto [ctx, cancel] = weft::with_cancel(weft::context::background());
    auto dialling = weft::spawn([&, &given = ctx] {
      std::error_code cancelled;
      net::dial(given, "tcp", busy, cancelled);
      return cancelled;
    });
    EXPECT_FALSE(dialling.wait_for(5ms));
    cancel();
    EXPECT_EQ(dialling.join(), std::errc::operation_canceled);
    ::close(full);
  });
}

TEST_P(Net, dials_names_and_all_their_addresses) {
  weft::run([] {
    const auto addresses = net::lookup_host("localhost");
    ASSERT_FALSE(addresses.empty());
    net::listener listener = net::listen("tcp4", "127.0.0.1:0");
    net::conn connection =
        net::dial("tcp", "localhost:" + std::to_string(listener.port()), 5s);  // ::1 may come first, and refuses
    EXPECT_EQ(connection.remote_address().to_string(), listener.address().to_string());
    net::conn accepted = listener.accept();
    EXPECT_EQ(accepted.remote_address(), connection.local_address());
    std::error_code error;
    EXPECT_TRUE(net::lookup_host("no-such-host.invalid", error).empty());
    EXPECT_TRUE(error);
  });
}

TEST_P(Net, a_cancelled_context_interrupts_calls) {
  weft::run([] {
    Pair pair = connect_pair();
    auto [ctx, cancel] = weft::with_cancel(weft::context::background());
    auto reader = weft::spawn([&, &given = ctx] {
      std::array<std::byte, 8> buffer;
      std::error_code error;
      pair.server.read(given, buffer, error);
      return error;
    });
    auto queued = weft::spawn([&, &given = ctx] {
      std::array<std::byte, 8> buffer;
      std::error_code error;
      pair.server.read(given, buffer, error);
      return error;
    });
    EXPECT_FALSE(reader.wait_for(3ms));
    cancel();
    EXPECT_EQ(reader.join(), std::errc::operation_canceled);
    EXPECT_EQ(queued.join(), std::errc::operation_canceled);
    pair.client.write("still there");
    EXPECT_FALSE(error_of_read(pair.server));
    auto [timed, cancel_timed] = weft::with_timeout(weft::context::background(), 5ms);
    net::listener listener = net::listen("tcp", "127.0.0.1:0");
    std::error_code error;
    listener.accept(timed, error);
    EXPECT_EQ(error, std::errc::timed_out);
    cancel_timed();
  });
}

TEST_P(Net, every_call_has_a_form_that_a_context_interrupts) {
  weft::run([] {
    const int file = memfd_create("weft", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file, 64 << 20), 0);
    using Call = std::function<void(const weft::context&, net::conn&, std::error_code&)>;
    static std::array<std::byte, 1 << 16> block;
    const Call calls[] = {
        [](auto& ctx, auto& connection, auto& error) { connection.read_full(ctx, block, error); },
        [](auto& ctx, auto& connection, auto& error) {
          const std::span<std::byte> parts[] = {std::span(block).first(8), std::span(block).last(8)};
          connection.readv(ctx, parts, error);
        },
        [](auto& ctx, auto& connection, auto& error) {
          const std::vector<std::span<const std::byte>> parts(1000, std::span<const std::byte>(block));
          connection.writev(ctx, parts, error);
        },
        [&](auto& ctx, auto& connection, auto& error) { connection.send_file(ctx, file, 0, 64 << 20, error); },
    };
    for (const Call& call : calls) {
      Pair pair = connect_pair();
      pair.client.write("some");  // a whole buffer never comes, and nobody reads
      if (&call == &calls[1]) pair.server.read(std::span(block));
      auto [ctx, cancel] = weft::with_cancel(weft::context::background());
      auto caller = weft::spawn([&, &given = ctx] {
        std::error_code error;
        call(given, pair.server, error);
        return error;
      });
      EXPECT_FALSE(caller.wait_for(20ms));
      cancel();
      EXPECT_EQ(caller.join(), std::errc::operation_canceled);
    }
    auto [ctx, cancel] = weft::with_cancel(weft::context::background());
    cancel();
    net::packet_conn packets = net::listen_packet("udp", "127.0.0.1:0");
    std::error_code error;
    packets.write_to(ctx, bytes("x"), packets.local_address(), error);
    EXPECT_EQ(error, std::errc::operation_canceled);
    close(file);
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

TEST(NetAddress, prints_and_parses) {
  for (const char* text : {"127.0.0.1:80", "[::1]:443", "[fe80::1%lo]:1"})
    EXPECT_EQ(net::parse_address("tcp", text).to_string(), text);
  EXPECT_EQ(net::parse_address("unix", "/run/x").to_string(), "/run/x");
  EXPECT_EQ(net::parse_address("unix", "@abstract").to_string(), "@abstract");
  EXPECT_EQ(net::address().to_string(), "");
  EXPECT_LT(net::parse_address("tcp", "127.0.0.1:1"), net::parse_address("tcp", "127.0.0.1:2"));
  for (const char* bad : {"", "1.2.3.4", "1.2.3.4:x", "1.2.3.4:70000", "::1:80", "localhost:80"})
    EXPECT_THROW(net::parse_address("tcp", bad), std::invalid_argument) << bad;
  EXPECT_THROW(net::parse_address("unix", std::string(200, 'x')), std::invalid_argument);
}

}  // namespace
