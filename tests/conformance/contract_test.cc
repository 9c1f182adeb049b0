// SPDX-License-Identifier: MIT
// The public contract of channels, select, synchronisation, time and cancellation, used exactly as it is printed: programs
// outside the project are written against these names, argument types and results. Most of this is judged by the compiler.
#include <weft/weft.h>

#include <condition_variable>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "support/runtime_test.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

template <class Expected, class Actual>
concept exactly = std::is_same_v<Expected, Actual>;

#define WEFT_RETURNS(type, ...) static_assert(exactly<type, decltype(__VA_ARGS__)>)

// --- channels ---

struct nothing {};
struct alignas(128) wide {
  int value = 0;
};
struct throwing_move {
  explicit throwing_move(int v) : value(v) {}
  throwing_move(throwing_move&& other) noexcept(false) : value(other.value) {}
  int value;
};

static_assert(std::is_enum_v<chan_status>);
static_assert(chan_status::received != chan_status::empty && chan_status::empty != chan_status::closed);
static_assert(std::is_same_v<decltype(recv_result<int>::status), chan_status>);
static_assert(std::is_same_v<decltype(recv_result<int>::value), std::optional<int>>);
static_assert(std::is_constructible_v<bool, recv_result<int>> && !std::is_convertible_v<recv_result<int>, bool>);

static_assert(std::is_default_constructible_v<chan<int>> && std::is_constructible_v<chan<int>, std::size_t>);
static_assert(!std::is_convertible_v<std::size_t, chan<int>>);
static_assert(std::is_copy_constructible_v<chan<std::unique_ptr<int>>> && std::is_copy_assignable_v<chan<int>>);
static_assert(std::is_nothrow_move_constructible_v<chan<int>>);

struct with_channels {  // a member of an aggregate
  chan<int> in, out;
};

template <class T>
concept has_all_of_chan = requires(const chan<T> c, const chan<T> k, T v, T&& r) {
  { chan<T>::nil() } -> std::same_as<chan<T>>;
  { c.send(std::move(v)) } -> std::same_as<void>;
  { c.recv() } -> std::same_as<std::optional<T>>;
  { c.try_send(v) } -> std::same_as<bool>;
  { c.try_send(std::move(r)) } -> std::same_as<bool>;
  { c.try_recv() } -> std::same_as<recv_result<T>>;
  { c.send_for(v, 1ms) } -> std::same_as<bool>;
  { c.send_for(v, std::chrono::duration<double>(0.5)) } -> std::same_as<bool>;
  { c.recv_for(1ms) } -> std::same_as<recv_result<T>>;
  { c.close() } -> std::same_as<void>;
  { k.size() } -> std::same_as<std::size_t>;
  { k.capacity() } -> std::same_as<std::size_t>;
  { k.closed() } -> std::same_as<bool>;
  { k == k } -> std::same_as<bool>;
  { k != k } -> std::same_as<bool>;
  { *c.begin() } -> std::same_as<T&>;
  { c.begin() == c.end() } -> std::same_as<bool>;
};
static_assert(has_all_of_chan<int> && has_all_of_chan<std::string> && has_all_of_chan<std::unique_ptr<int>> &&
              has_all_of_chan<nothing> && has_all_of_chan<wide> && has_all_of_chan<throwing_move> &&
              has_all_of_chan<std::vector<chan<int>>> && has_all_of_chan<std::monostate>);

template <class C>
concept can_receive =
    requires(const C c) { c.recv(); } || requires(const C c) { c.try_recv(); } || requires(const C c) { c.begin(); } ||
    requires(const C c) { on_recv(c); } || requires(selector s, const C c) { s.recv(c); };
template <class C>
concept can_send = requires(const C c) { c.send(1); } || requires(const C c) { c.close(); } ||
                   requires(const C c) { on_send(c, 1); } || requires(selector s, const C c) { s.send(c, 1); };
static_assert(can_receive<chan<int>> && can_send<chan<int>>);
static_assert(can_receive<chan<int>::receiver> && !can_send<chan<int>::receiver>);
static_assert(!can_receive<chan<int>::sender> && can_send<chan<int>::sender>);
static_assert(std::is_convertible_v<chan<int>, chan<int>::sender> &&
              std::is_convertible_v<chan<int>&, chan<int>::receiver>);
static_assert(!std::is_convertible_v<chan<int>::sender, chan<int>> &&
              !std::is_convertible_v<chan<int>::receiver, chan<int>> &&
              !std::is_constructible_v<chan<int>, chan<int>::sender> &&
              !std::is_constructible_v<chan<int>::sender, chan<int>::receiver> &&
              !std::is_constructible_v<chan<int>::receiver, chan<int>::sender> &&
              !std::is_convertible_v<chan<int>, chan<long>::sender>);
static_assert(sizeof(chan<int>) == sizeof(void*) && sizeof(chan<int>::sender) == sizeof(void*));

class Contract : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(Contract);

TEST_P(Contract, channels_are_used_as_printed) {
  run([] {
    chan<int> unbuffered;
    EXPECT_EQ(unbuffered.capacity(), 0u);
    const with_channels both{};
    EXPECT_FALSE(both.in == both.out);
    chan<int> c(2);
    c.send(1);
    int value = 2;
    EXPECT_TRUE(c.try_send(value));
    EXPECT_FALSE(c.try_send(3));
    EXPECT_EQ(c.size(), 2u);
    EXPECT_FALSE(c.send_for(value, 1ms));
    if (std::optional<int> v = c.recv()) {
      EXPECT_EQ(*v, 1);
    }
    recv_result<int> result = c.try_recv();
    ASSERT_TRUE(result);
    EXPECT_EQ(*result.value, 2);
    EXPECT_EQ(c.try_recv().status, chan_status::empty);
    EXPECT_EQ(c.recv_for(1ms).status, chan_status::empty);
    c.send(4);
    c.close();
    for (auto& v : c) EXPECT_EQ(v++, 4);
    EXPECT_TRUE(c.closed());
    EXPECT_EQ(c.recv(), std::nullopt);
    EXPECT_EQ(c.try_recv().status, chan_status::closed);
    EXPECT_THROW(c.close(), logic_error);
    EXPECT_THROW(c.send(1), std::logic_error);
    EXPECT_THROW(chan<int>::nil().close(), logic_error);
    EXPECT_THROW(chan<int>(std::size_t(-1)), std::length_error);
    EXPECT_FALSE(chan<int>::nil().try_send(1));
    EXPECT_EQ(chan<int>::nil(), chan<int>::nil());
  });
}

// --- select ---

TEST_P(Contract, select_is_used_as_printed) {
  run([] {
    chan<int> c1(1), c2(1);
    const int value = 7;
    std::string log;
    for (int round = 0; round < 2; ++round) {
      const std::size_t i =
          weft::select(weft::on_recv(c1, [&](std::optional<int> v) { log += "r" + std::to_string(*v); }),
                       weft::on_send(c2, value, [&] { log += "s"; }), weft::on_timeout(10ms, [&] { log += "t"; }));
      EXPECT_EQ(i, round == 0 ? 1u : 2u);
    }
    EXPECT_EQ(weft::select(weft::on_recv(c1, [](std::optional<int>) {}), weft::on_default([&] { log += "d"; })), 1u);
    EXPECT_EQ(
        weft::select(weft::on_recv(c1), weft::on_deadline(std::chrono::steady_clock::now() + 1ms, [&] { log += "l"; })),
        1u);
    EXPECT_EQ(weft::select(weft::on_recv(c1), weft::on_deadline(weft::time_point())), 1u);
    EXPECT_EQ(log, "stdl");
    EXPECT_EQ(weft::select(weft::on_recv(c2), weft::on_default()), 0u);
    int moved = 8;
    EXPECT_EQ(weft::select(weft::on_send(c1, std::move(moved)), weft::on_timeout(1s)), 0u);
    EXPECT_EQ(weft::select(weft::on_send(c2, 9), weft::on_recv(chan<int>::nil())), 0u);

    weft::selector s;
    s.recv(c1, [&](std::optional<int> v) { log = "r" + std::to_string(*v); });
    s.send(c2, 10, [&] { log = "s"; });
    std::size_t i = s.wait();
    EXPECT_EQ(i, 0u);
    EXPECT_EQ(log, "r8");
    std::optional<std::size_t> j = s.try_wait();
    EXPECT_EQ(j, std::nullopt);
    std::optional<std::size_t> k = s.wait_for(1ms);
    EXPECT_EQ(k, std::nullopt);
    EXPECT_EQ(c2.recv(), 9);
    EXPECT_EQ(s.try_wait(), 1u);
    EXPECT_EQ(log, "s");
    s.clear();
    s.recv(c2);
    s.send(c1, 11);
    EXPECT_TRUE(s.wait_for(1h).has_value());
    WEFT_RETURNS(std::size_t, weft::select());
  });
}

// What is sent is converted in the same way everywhere: by what chan::send accepts, which is no explicit constructor.
template <class T, class V>
concept sends = requires(chan<T> c, V&& v) { c.send(std::forward<V>(v)); };
template <class T, class V>
concept sends_in_select = requires(chan<T> c, V&& v) { weft::select(weft::on_send(c, std::forward<V>(v))); };
template <class T, class V>
concept gives_away_in_select = requires(V&& v) { weft::select(weft::on_send(chan<T>(), std::forward<V>(v))); };
template <class T, class V>
concept sends_by_selector = requires(selector s, chan<T> c, V&& v) { s.send(c, std::forward<V>(v)); };
template <class T, class V>
concept promises = requires(promise<T> p, V&& v) { p.set_value(std::forward<V>(v)); };
template <class T, class V>
concept accepted =
    sends<T, V> && sends_in_select<T, V> && gives_away_in_select<T, V> && sends_by_selector<T, V> && promises<T, V>;
template <class T, class V>
concept refused = !sends<T, V> && !sends_in_select<T, V> && !gives_away_in_select<T, V> && !sends_by_selector<T, V> &&
                  !promises<T, V>;
static_assert(accepted<std::string, const char (&)[3]> && accepted<std::string, const std::string&> &&
              accepted<std::string, const std::string> && accepted<double, int> && accepted<bool, int*> &&
              accepted<std::unique_ptr<int>, std::unique_ptr<int>> && accepted<std::unique_ptr<int>, std::nullptr_t> &&
              accepted<std::shared_ptr<int>, std::unique_ptr<int>> && accepted<std::optional<int>, int&>);
static_assert(refused<std::vector<int>, int> && refused<std::unique_ptr<int>, int*> && refused<int*, std::size_t> &&
              refused<std::unique_ptr<int>, std::unique_ptr<int>&> && refused<int*, const int*> &&
              refused<std::unique_ptr<int>, const std::unique_ptr<int>>);

// --- synchronisation: the members of the std type of that name ---

template <class M>
concept lockable = requires(M m) {
  { m.lock() } -> std::same_as<void>;
  { m.try_lock() } -> std::same_as<bool>;
  { m.unlock() } -> std::same_as<void>;
  requires !std::is_copy_constructible_v<M>;
};
template <class M>
concept timed_lockable = lockable<M> && requires(M m) {
  { m.try_lock_for(1ms) } -> std::same_as<bool>;
  { m.try_lock_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
  { m.try_lock_until(std::chrono::system_clock::now()) } -> std::same_as<bool>;
};
template <class M>
concept shared_lockable = lockable<M> && requires(M m) {
  { m.lock_shared() } -> std::same_as<void>;
  { m.try_lock_shared() } -> std::same_as<bool>;
  { m.unlock_shared() } -> std::same_as<void>;
};
static_assert(lockable<mutex> && timed_lockable<timed_mutex> && timed_lockable<recursive_mutex> &&
              shared_lockable<shared_mutex>);
[[maybe_unused]] constinit mutex global_mutex;
[[maybe_unused]] constinit once_flag global_once;
[[maybe_unused]] constinit condition_variable global_condition;
[[maybe_unused]] constinit wait_group global_group;

template <class C, class L>
concept condition = requires(C c, L& lock, bool (*predicate)()) {
  { c.notify_one() } -> std::same_as<void>;
  { c.notify_all() } -> std::same_as<void>;
  { c.wait(lock) } -> std::same_as<void>;
  { c.wait(lock, predicate) } -> std::same_as<void>;
  { c.wait_for(lock, 1ms) } -> std::same_as<std::cv_status>;
  { c.wait_for(lock, 1ms, predicate) } -> std::same_as<bool>;
  { c.wait_until(lock, std::chrono::steady_clock::now()) } -> std::same_as<std::cv_status>;
  { c.wait_until(lock, std::chrono::steady_clock::now(), predicate) } -> std::same_as<bool>;
};
static_assert(condition<condition_variable, std::unique_lock<mutex>>);
static_assert(condition<condition_variable_any, std::unique_lock<timed_mutex>> &&
              condition<condition_variable_any, std::shared_lock<shared_mutex>> &&
              condition<condition_variable_any, mutex>);
static_assert(requires(condition_variable_any c, std::unique_lock<mutex>& lock, std::stop_token token,
                       bool (*predicate)()) {
  { c.wait(lock, token, predicate) } -> std::same_as<bool>;
  { c.wait_for(lock, token, 1ms, predicate) } -> std::same_as<bool>;
});

template <class S>
concept semaphore = requires(S s) {
  { S::max() } -> std::same_as<std::ptrdiff_t>;
  { s.acquire() } -> std::same_as<void>;
  { s.try_acquire() } -> std::same_as<bool>;
  { s.try_acquire_for(1ms) } -> std::same_as<bool>;
  { s.try_acquire_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
  { s.release() } -> std::same_as<void>;
  { s.release(2) } -> std::same_as<void>;
};
static_assert(semaphore<counting_semaphore<>> && semaphore<counting_semaphore<5>> && semaphore<binary_semaphore>);
static_assert(std::is_same_v<binary_semaphore, counting_semaphore<1>>);

static_assert(requires(latch l) {
  { l.count_down() } -> std::same_as<void>;
  { l.count_down(2) } -> std::same_as<void>;
  { l.try_wait() } -> std::same_as<bool>;
  { l.wait() } -> std::same_as<void>;
  { l.arrive_and_wait() } -> std::same_as<void>;
  { l.arrive_and_wait(1) } -> std::same_as<void>;
  { latch::max() } -> std::same_as<std::ptrdiff_t>;
});
template <class B>
concept is_barrier = requires(B b) {
  { b.wait(b.arrive()) } -> std::same_as<void>;
  { b.arrive(2) } -> std::same_as<typename B::arrival_token>;
  { b.arrive_and_wait() } -> std::same_as<void>;
  { b.arrive_and_drop() } -> std::same_as<void>;
  { B::max() } -> std::same_as<std::ptrdiff_t>;
};
static_assert(is_barrier<barrier<>> && is_barrier<barrier<void (*)() noexcept>>);

static_assert(requires(wait_group w) {
  { w.add() } -> std::same_as<void>;
  { w.add(2) } -> std::same_as<void>;
  { w.done() } -> std::same_as<void>;
  { w.wait() } -> std::same_as<void>;
  { w.wait_for(1ms) } -> std::same_as<bool>;
  {
    w.go([] {})
  } -> std::same_as<void>;
});
static_assert(requires(group g, const group k) {
  {
    g.go([] {})
  } -> std::same_as<void>;
  {
    g.go([](const context&) {})
  } -> std::same_as<void>;
  { g.limit(3) } -> std::same_as<void>;
  { g.wait() } -> std::same_as<void>;
  { g.wait_for(1ms) } -> std::same_as<bool>;
  { k.ctx() } -> std::same_as<const context&>;
});
static_assert(std::is_constructible_v<group, const context&> && !std::is_convertible_v<const context&, group>);

// As std's, they are there before any code has run.
constinit latch early_latch(1);
constinit counting_semaphore<> early_semaphore(2);
constinit binary_semaphore early_permit(0);
constinit barrier<> early_barrier(1);
constinit mutex early_mutex;
constinit recursive_mutex early_recursive_mutex;
constinit shared_mutex early_shared_mutex;
constinit condition_variable early_condition;
constinit wait_group early_group;
constinit once_flag early_flag;

TEST_P(Contract, primitives_are_initialised_by_the_compiler) {
  if (!early_latch.try_wait()) early_latch.count_down();
  early_latch.wait();
  early_semaphore.acquire();
  early_semaphore.release();
  EXPECT_FALSE(early_permit.try_acquire());
  early_barrier.arrive_and_wait();
  const std::scoped_lock both(early_mutex, early_recursive_mutex, early_shared_mutex);
  early_condition.notify_all();
  early_group.wait();
  call_once(early_flag, [] {});
}

TEST_P(Contract, locks_are_used_as_printed) {
  run([] {
    mutex a;
    timed_mutex b;
    recursive_mutex r;
    shared_mutex s;
    {
      const std::lock_guard guard(a);
      EXPECT_FALSE(a.try_lock());
    }
    {
      const std::scoped_lock both(a, b, r);
      const std::shared_lock reader(s);
      const std::shared_lock another(s);
    }
    condition_variable ready;
    bool is_ready = false;
    task<void> other = spawn([&] {
      const std::lock_guard guard(a);
      is_ready = true;
      ready.notify_one();
    });
    std::unique_lock<weft::mutex> lock(a);
    ready.wait(lock, [&] { return is_ready; });
    EXPECT_EQ(ready.wait_for(lock, 1ms), std::cv_status::timeout);
    lock.unlock();
    other.join();

    once_flag once;
    int calls = 0;
    EXPECT_THROW(call_once(once, [] { throw std::runtime_error("again"); }), std::runtime_error);
    call_once(once, [&](int n) { calls += n; }, 1);
    call_once(once, [&] { ++calls; });
    EXPECT_EQ(calls, 1);
  });
}

TEST_P(Contract, groups_pools_and_futures_are_used_as_printed) {
  run([] {
    wait_group all;
    std::atomic<int> sum{0};
    all.add();
    go([&] {
      ++sum;
      all.done();
    });
    all.go([&] { ++sum; });
    all.wait();
    EXPECT_TRUE(all.wait_for(1ms));
    EXPECT_EQ(sum, 2);
    EXPECT_THROW(all.done(), logic_error);

    group g(context::background());
    g.limit(2);
    g.go([&] { ++sum; });
    g.go([](const context& ctx) { ctx.done().recv(); });
    g.go([] { throw std::runtime_error("first"); });
    EXPECT_THROW(g.wait(), std::runtime_error);
    EXPECT_TRUE(g.ctx().cancelled());
    group slow;
    slow.go([](const context& ctx) { ctx.done().recv(); });
    EXPECT_FALSE(slow.wait_for(1ms));

    pool<std::string> strings([] { return std::string("new"); });
    EXPECT_EQ(strings.get(), "new");
    strings.put("used");

    single_flight<std::string, int> flights;
    const int result = flights.run("key", [] { return 42; });
    EXPECT_EQ(result, 42);

    promise<int> word;
    future<int> later = word.get_future();
    EXPECT_EQ(later.wait_for(1ms), std::future_status::timeout);
    go([&] { word.set_value(5); });
    EXPECT_EQ(later.get(), 5);
    promise<void> broken;
    future<void> never = broken.get_future();
    broken.set_exception(std::make_exception_ptr(std::runtime_error("no")));
    EXPECT_THROW(never.get(), std::runtime_error);
  });
}

// An element and a function may have an operator& of their own.
struct discreet {
  explicit discreet(int v = 0) : value(v) {}
  discreet(const discreet&) = default;
  discreet(discreet&&) noexcept = default;
  ~discreet() {}
  void operator&() const = delete;
  int operator()() const { return value; }
  int value;
};
struct discreet_box : discreet {
  using discreet::discreet;
  discreet_box(const discreet_box&) = default;
  discreet_box(discreet_box&& other) noexcept(false) : discreet(other.value) {}
};
static_assert(has_all_of_chan<discreet> && has_all_of_chan<discreet_box>);

template <class T>
void pass_on() {
  chan<T> c(2);
  const T two(2);
  T three(3);
  c.send(T(1));
  EXPECT_EQ(weft::select(weft::on_send(c, two)), 0u);
  EXPECT_EQ(c.recv()->value, 1);
  EXPECT_EQ(weft::select(weft::on_recv(c, [](std::optional<T> v) { EXPECT_EQ(v->value, 2); })), 0u);
  weft::selector s;
  s.send(c, two);
  s.send(c, T(2));
  for (int i = 0; i < 2; ++i) s.wait();
  EXPECT_FALSE(c.try_send(three));
  EXPECT_FALSE(c.send_for(three, 0s));
  EXPECT_EQ(weft::select(weft::on_send(c, std::move(three)), weft::on_default()), 1u);
  c.close();
  for (auto it = c.begin(); it != c.end(); ++it) EXPECT_EQ(it->value, 2);
}

TEST_P(Contract, nobody_asks_an_element_or_a_function_for_its_address) {
  static goroutine_local<discreet> own;
  run([] {
    pass_on<discreet>();
    pass_on<discreet_box>();
    pool<discreet> used([] { return discreet(1); });
    for (int i = 0; i < 2; ++i) used.put(used.get());
    EXPECT_EQ(used.get().value, 1);
    promise<discreet> word;
    word.set_value(discreet(2));
    EXPECT_EQ(word.get_future().get().value, 2);
    single_flight<int, discreet> flights;
    EXPECT_EQ(flights.run(1, discreet(3)).value, 3);
    go(discreet(4));
    EXPECT_EQ(spawn(discreet(4)).join(), 4);
    EXPECT_EQ(spawn([] { return discreet(5); }).join().value, 5);
    wait_group all;
    all.go(discreet(6));
    all.wait();
    group g;
    g.go(discreet(7));
    g.wait();
    after_func(0s, discreet(8));
    EXPECT_EQ(blocking(discreet(9)), 9);
    EXPECT_EQ(own->value, 0);
  });
  EXPECT_EQ(run(discreet(10)), 10);
}

// --- time ---

static_assert(std::is_same_v<time_point, std::chrono::steady_clock::time_point>);
WEFT_RETURNS(chan<time_point>, after(1ms));
WEFT_RETURNS(timer, after_func(1ms, [] {}));
static_assert(requires(timer t, const timer k) {
  { t.stop() } -> std::same_as<bool>;
  { t.reset(1ms) } -> std::same_as<bool>;
  { k.chan() } -> std::same_as<chan<time_point>>;
});
static_assert(requires(ticker t, const ticker k) {
  { t.stop() } -> std::same_as<void>;
  { t.reset(1ms) } -> std::same_as<void>;
  { k.chan() } -> std::same_as<chan<time_point>>;
});

TEST_P(Contract, time_is_used_as_printed) {
  run([] {
    const time_point start = std::chrono::steady_clock::now();
    const std::optional<time_point> fired = after(1ms).recv();
    ASSERT_TRUE(fired.has_value());
    EXPECT_GE(*fired, start + 1ms);
    timer one(1h);
    EXPECT_EQ(one.chan().capacity(), 0u);
    EXPECT_EQ(one.chan().size(), 0u);
    EXPECT_TRUE(one.reset(1ms));
    EXPECT_TRUE(one.chan().recv().has_value());
    EXPECT_FALSE(one.stop());
    chan<int> ran(2);
    timer two(1ms, [ran]() mutable { ran.send(1); });
    after_func(1ms, [ran]() mutable { ran.send(2); });  // the handle may be dropped
    EXPECT_EQ(*ran.recv() + *ran.recv(), 3);
    ticker again(1ms);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(again.chan().recv().has_value());
    again.reset(2ms);
    again.stop();
    EXPECT_THROW(ticker(0ms), logic_error);
    EXPECT_THROW(again.reset(-1ms), logic_error);
  });
}

// --- cancellation ---

static_assert(requires(const context k) {
  { context::background() } -> std::same_as<context>;
  { k.done() } -> std::same_as<chan<std::monostate>>;
  { k.cancelled() } -> std::same_as<bool>;
  { k.err() } -> std::same_as<std::error_code>;
  { k.cause() } -> std::same_as<std::exception_ptr>;
  { k.deadline() } -> std::same_as<std::optional<time_point>>;
  { k.template value<int>() } -> std::same_as<const int*>;
  { k.stop_token() } -> std::same_as<std::stop_token>;
  { with_cancel(k) } -> std::same_as<std::pair<context, cancel_function>>;
  { with_timeout(k, 1ms) } -> std::same_as<std::pair<context, cancel_function>>;
  { with_deadline(k, time_point()) } -> std::same_as<std::pair<context, cancel_function>>;
  { with_value(k, 1) } -> std::same_as<context>;
});
static_assert(requires(const cancel_function cancel, std::exception_ptr cause) {
  { cancel() } -> std::same_as<void>;
  { cancel(cause) } -> std::same_as<void>;
});

struct user {
  std::string name;
};

TEST_P(Contract, contexts_are_used_as_printed) {
  run([] {
    auto [ctx, cancel] = with_cancel(context::background());
    const context named = with_value(ctx, user{"ada"});
    ASSERT_NE(named.value<user>(), nullptr);
    EXPECT_EQ(named.value<user>()->name, "ada");
    EXPECT_EQ(named.value<int>(), nullptr);
    std::function<void()> keep = cancel;
    auto [timed, cancel_timed] = with_timeout(named, 1h);
    EXPECT_TRUE(timed.deadline().has_value());
    const std::stop_token token = timed.stop_token();
    cancel(std::make_exception_ptr(std::runtime_error("enough")));
    keep();
    cancel_timed();
    EXPECT_EQ(timed.done().recv(), std::nullopt);
    EXPECT_EQ(timed.err(), std::errc::operation_canceled);
    EXPECT_THROW(std::rethrow_exception(timed.cause()), std::runtime_error);
    EXPECT_TRUE(token.stop_requested());
    auto [late, cancel_late] = with_deadline(context::background(), std::chrono::steady_clock::now());
    EXPECT_EQ(weft::select(weft::on_recv(late.done()), weft::on_timeout(10s)), 0u);
    EXPECT_EQ(late.err(), std::errc::timed_out);
  });
}

}  // namespace
}  // namespace weft::test
