// SPDX-License-Identifier: MIT
// test-timeout: 600
// test-labels: no-asan no-tsan
#include <weft/net.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "support/sockets.h"

// Peers that read nothing for a minute: the kernel of each says every few seconds that its window is still closed. (fault F34; the same
// for moments is in net_peer_test.cc)
namespace {

using namespace weft::test;
namespace net = weft::net;

class ZeroWindow : public Net {
 protected:
  ZeroWindow() : Net(300) {}
};
INSTANTIATE_TEST_SUITE_P(P, ZeroWindow,
                         ::testing::Values(Configuration{1, weft::policy_kind::classic},
                                           Configuration{2, weft::policy_kind::classic}),
                         configuration_name);

constexpr auto kLength = 60s;
constexpr std::size_t kMuch = 32 << 20;

Pair pair_with_small_buffers() {
  Pair pair = connect_pair();
  pair.client.set_read_buffer(65'536);
  pair.server.set_write_buffer(65'536);
  return pair;
}

// Writes under one time limit after the other; how many have passed.
int time_out_again_and_again(net::conn& connection, Clock::time_point end) {
  const std::string piece(65'536, 'q');
  int count = 0;
  for (; Clock::now() < end; ++count) {
    const auto start = Clock::now();
    connection.set_write_deadline(start + 1s);
    std::error_code error;
    while (!error) connection.write(piece, error);
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_GE(Clock::now() - start, 1s);
  }
  return count;
}

int exchange_until(net::conn& one, net::conn& other, Clock::time_point end) {
  std::array<char, 4> text{'p', 'i', 'n', 'g'}, got{};
  int count = 0;
  for (; Clock::now() < end; ++count) {
    for (net::conn* from : {&one, &other}) {
      net::conn& to = from == &one ? other : one;
      from->write(std::string_view(text.data(), text.size()));
      to.set_read_deadline(Clock::now() + 30s);
      EXPECT_EQ(to.read_full(std::as_writable_bytes(std::span(got))), got.size());
      EXPECT_EQ(got, text);
    }
    weft::this_goroutine::sleep_for(1ms);
  }
  return count;
}

TEST_P(ZeroWindow, for_a_minute_stops_its_writers_and_nobody_else) {
  weft::run([] {
    Pair patient = pair_with_small_buffers(), limited = pair_with_small_buffers(), others = connect_pair();
    const std::string much(kMuch, 'p');
    const std::size_t before = resident_bytes();
    const auto end = Clock::now() + kLength;
    patient.server.set_write_deadline(end + 1h);
    auto writer = weft::spawn([&] {
      std::error_code error;
      EXPECT_EQ(patient.server.write(much, error), much.size());
      EXPECT_FALSE(error) << error.message();
      patient.server.close_write();
    });
    auto limits = weft::spawn([&] { return time_out_again_and_again(limited.server, end); });
    const int exchanges = exchange_until(others.client, others.server, end);
    const int passed = limits.join();
    EXPECT_FALSE(writer.wait_for(1ms));
    EXPECT_LT(resident_bytes(), before + (16u << 20));
    EXPECT_GE(passed, 20);
    EXPECT_GE(exchanges, 1000);

    std::size_t read = 0, wrong = 0;
    std::string part(100'000, ' ');
    while (const std::size_t size = patient.client.read(std::as_writable_bytes(std::span(part)))) {
      read += size;
      wrong += static_cast<std::size_t>(
          std::count_if(part.begin(), part.begin() + static_cast<long>(size), [](char c) { return c != 'p'; }));
    }
    writer.join();
    EXPECT_EQ(read, much.size());
    EXPECT_EQ(wrong, 0u);
  });
}

}  // namespace
