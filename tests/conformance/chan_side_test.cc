// SPDX-License-Identifier: MIT
// Handles of one side of a channel: chan<T>::sender and chan<T>::receiver; and that handles are const while channels change.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/runtime_test.h"

namespace {

using namespace weft::test;
using namespace std::chrono_literals;

class ChanSide : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(ChanSide);

TEST_P(ChanSide, a_const_handle_does_everything) {
  weft::run([] {
    const weft::chan<int> c(2);
    c.send(1);
    int value = 2;
    EXPECT_TRUE(c.try_send(value));
    EXPECT_FALSE(c.try_send(3));
    EXPECT_FALSE(c.send_for(value, 1ms));
    EXPECT_FALSE(c.send_until(value, weft::time_point()));
    EXPECT_EQ(c.recv(), 1);
    EXPECT_EQ(c.try_recv().value, 2);
    EXPECT_EQ(c.recv_for(1ms).status, weft::chan_status::empty);
    EXPECT_EQ(c.recv_until(weft::time_point()).status, weft::chan_status::empty);
    weft::go([c] {  // a copy in a lambda that is not mutable
      for (int i = 0; i < 3; ++i) c.send(i);
      c.close();
    });
    int sum = 0;
    for (const int& one : c) sum += one;
    EXPECT_EQ(sum, 3);
    EXPECT_TRUE(c.closed());
  });
}

int produce(weft::chan<int>::sender out, int count) {
  for (int i = 0; i < count; ++i) out.send(i);
  out.close();
  return count;
}
int consume(weft::chan<int>::receiver in) {
  int sum = 0;
  for (const int value : in) sum += value;
  return sum;
}

TEST_P(ChanSide, each_side_is_given_to_whom_it_concerns) {
  weft::run([] {
    weft::chan<int> c(3);
    weft::task<int> producing = weft::spawn(produce, c, 100);
    EXPECT_EQ(consume(c), 4950);
    EXPECT_EQ(producing.join(), 100);
    weft::chan<int> given;
    weft::task<int> another = weft::spawn(produce, given, 10);
    EXPECT_EQ(consume(std::move(given)), 45);
    EXPECT_FALSE(static_cast<bool>(given));
    another.join();
  });
}

TEST_P(ChanSide, sides_do_what_the_channel_does) {
  weft::run([] {
    weft::chan<std::string> c(1);
    const weft::chan<std::string>::sender out = c;
    const weft::chan<std::string>::receiver in = c;
    std::string text = "second";
    out.send("first");
    EXPECT_FALSE(out.try_send(text));
    EXPECT_FALSE(out.try_send("third"));
    EXPECT_FALSE(out.send_for(text, 1ms));
    EXPECT_FALSE(out.send_until(text, weft::time_point()));
    EXPECT_EQ(text, "second");
    EXPECT_EQ(in.size(), 1u);
    EXPECT_EQ(out.size(), 1u);
    EXPECT_EQ(in.capacity(), 1u);
    EXPECT_EQ(out.capacity(), 1u);
    EXPECT_EQ(in.recv(), "first");
    EXPECT_EQ(in.try_recv().status, weft::chan_status::empty);
    EXPECT_EQ(in.recv_for(1ms).status, weft::chan_status::empty);
    EXPECT_TRUE(out.try_send(std::move(text)));
    EXPECT_FALSE(in.closed());
    out.close();
    EXPECT_TRUE(in.closed() && out.closed());
    EXPECT_EQ(in.recv_until(weft::time_point::max()).value, "second");
    EXPECT_EQ(in.recv(), std::nullopt);
    EXPECT_THROW(out.close(), weft::logic_error);
    EXPECT_THROW(out.send(""), weft::logic_error);
  });
}

TEST_P(ChanSide, sides_are_compared_copied_and_nil) {
  weft::run([] {
    weft::chan<int> c, other;
    weft::chan<int>::sender out = c;
    weft::chan<int>::receiver in = c;
    EXPECT_EQ(out, c);
    EXPECT_EQ(c, in);
    EXPECT_NE(out, other);
    EXPECT_NE(in, other);
    EXPECT_EQ(out, weft::chan<int>::sender(c));
    weft::chan<int>::receiver none;
    EXPECT_FALSE(none);
    EXPECT_EQ(none, weft::chan<int>::receiver::nil());
    EXPECT_EQ(none, weft::chan<int>::nil());
    EXPECT_EQ(none.try_recv().status, weft::chan_status::empty);
    EXPECT_EQ(none.size() + none.capacity(), 0u);
    EXPECT_FALSE(none.closed());
    EXPECT_FALSE(weft::chan<int>::sender::nil().try_send(1));
    EXPECT_THROW(weft::chan<int>::sender::nil().close(), weft::logic_error);
    none = in;
    EXPECT_EQ(none, c);
    none = other;
    EXPECT_EQ(none, other);
    const weft::chan<int> same = other;
    out = std::move(other);
    EXPECT_EQ(out, same);
    EXPECT_FALSE(other);
    const auto& itself = none;
    none = itself;
    EXPECT_TRUE(none);
    std::vector<weft::chan<int>::sender> many{c, out};
    std::swap(many[0], many[1]);
    EXPECT_EQ(many[1], c);
  });
}

TEST_P(ChanSide, a_channel_lives_as_long_as_one_of_its_sides) {
  const int before = Counted::alive;
  weft::run([] {
    weft::chan<Counted>::receiver in;
    {
      weft::chan<Counted> c(2);
      in = c;
      c.send(Counted());
    }
    EXPECT_TRUE(in.recv().has_value());
    weft::chan<Counted>::sender out;
    {
      weft::chan<Counted> c(2);
      out = c;
    }
    out.send(Counted());
  });
  EXPECT_EQ(Counted::alive, before);
}

TEST_P(ChanSide, sides_stand_in_selects) {
  weft::run([] {
    weft::chan<int> c(1);
    weft::chan<std::unique_ptr<int>> boxes(1);
    const weft::chan<int>::sender out = c;
    const weft::chan<int>::receiver in = c;
    const weft::chan<std::unique_ptr<int>>::sender boxes_out = boxes;
    const short small = 4;
    int got = 0;
    EXPECT_EQ(weft::select(weft::on_recv(in), weft::on_send(out, small)), 1u);
    EXPECT_EQ(weft::select(weft::on_send(out, 5), weft::on_recv(in, [&](std::optional<int> v) { got = *v; })), 1u);
    EXPECT_EQ(got, 4);
    EXPECT_EQ(weft::select(weft::on_send(boxes_out, std::make_unique<int>(1))), 0u);
    EXPECT_EQ(weft::select(weft::on_recv(weft::chan<int>::receiver(c)), weft::on_default()), 1u);
    EXPECT_EQ(weft::select(weft::on_send(weft::chan<int>::sender(c), 6)), 0u);
    auto kept = weft::on_recv(weft::chan<int>::receiver(c), [&](std::optional<int> v) { got = *v; });
    EXPECT_EQ(weft::select(std::move(kept)), 0u);
    EXPECT_EQ(got, 6);
    weft::selector s;
    s.send(out, 7);
    s.recv(in, [&](std::optional<int> v) { got = *v; });
    EXPECT_EQ(s.wait(), 0u);
    EXPECT_EQ(s.wait(), 1u);
    EXPECT_EQ(got, 7);
    // Two that face each other, each with one side.
    weft::chan<int> meeting;
    weft::task<std::size_t> other =
        weft::spawn([from = weft::chan<int>::receiver(meeting)] { return weft::select(weft::on_recv(from)); });
    EXPECT_EQ(weft::select(weft::on_send(weft::chan<int>::sender(meeting), 1)), 0u);
    EXPECT_EQ(other.join(), 0u);
  });
}

}  // namespace
