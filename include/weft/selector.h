// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/chan.h"
#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/detail/select_cases.h"

namespace weft {

// Cases chosen at run time, for any number of waits. recv(), send(), join() and ready() return the index of their case.
// A value given as an lvalue, or of a trivially copyable type, is sent each time its case wins. A value that was moved
// in, or cannot be copied, is sent once; then its case is never ready, like a nil channel. Neither is the case of a
// task that was joined, or of a future whose value was taken. A handler may change the selector that called it.
class selector {
 public:
  selector() = default;
  selector(const selector&) = delete;

  template <class T, class F = detail::no_handler>
  std::size_t recv(chan<T> channel, F handler = {}) {
    return recv(chan_receiver<T>(std::move(channel)), std::move(handler));
  }
  template <class T, class F = detail::no_handler>
  std::size_t recv(chan_receiver<T> channel, F handler = {}) {
    constexpr bool is_right = std::is_invocable_v<F&, std::optional<T>>;
    static_assert(is_right, WEFT_RECV_HANDLER_SENTENCE("weft::selector::recv"));
    if constexpr (is_right) return add(detail::recv_case<T, F>(std::move(channel), std::move(handler)));
    return 0;
  }
  template <class T, class V, class F = detail::no_handler>
    requires std::is_convertible_v<V&&, T>
  std::size_t send(chan<T> channel, V&& value, F handler = {}) {
    return send(chan_sender<T>(std::move(channel)), std::forward<V>(value), std::move(handler));
  }
  template <class T, class V, class F = detail::no_handler>
    requires std::is_convertible_v<V&&, T>
  std::size_t send(chan_sender<T> channel, V&& value, F handler = {}) {
    static_assert(std::is_invocable_v<F&>, WEFT_PLAIN_HANDLER_SENTENCE("weft::selector::send"));
    // A type without a copy constructor may still be trivially copyable.
    constexpr bool is_repeated =
        std::is_copy_constructible_v<T> && (std::is_lvalue_reference_v<V> || std::is_trivially_copyable_v<T>);
    using called = detail::callable_or_none<F>;
    using entry_type = std::conditional_t<is_repeated, send_entry<T, called>, send_once_entry<T, called>>;
    return add(std::make_unique<entry_type>(std::move(channel), T(std::forward<V>(value)), std::move(handler)));
  }
  // As on_join and on_ready. A task or future given as an lvalue must outlive the case; one that is moved in is kept.
  template <class Task, class F = detail::no_handler>
    requires detail::joinable_type<Task>
  std::size_t join(Task&& task, F handler = {}) {
    static_assert(detail::handles_join<Task, F>, WEFT_JOIN_HANDLER_SENTENCE("weft::selector::join"));
    if constexpr (detail::handles_join<Task, F>)
      return add(detail::join_case<Task, F>{std::forward<Task>(task), std::move(handler)});
    return 0;
  }
  template <class Future, class F = detail::no_handler>
    requires detail::future_type<Future>
  std::size_t ready(Future&& future, F handler = {}) {
    constexpr bool is_right = detail::handles_ready<std::remove_reference_t<Future>, F>;
    static_assert(is_right, WEFT_READY_HANDLER_SENTENCE("weft::selector::ready"));
    if constexpr (is_right) return add(detail::ready_case<Future, F>{std::forward<Future>(future), std::move(handler)});
    return 0;
  }
  std::size_t size() const noexcept { return cases_.size(); }
  void clear() {
    if (handlers_running_ != 0)
      dropped_.insert(dropped_.end(), std::make_move_iterator(cases_.begin()), std::make_move_iterator(cases_.end()));
    cases_.clear();
    has_events_ = false;
  }

  // Blocks until a case is ready, runs it, and returns its index.
  std::size_t wait() { return *run(detail::forever); }
  // Never blocks. Nullopt: no case was ready.
  std::optional<std::size_t> try_wait() { return run(0); }
  // Nullopt: no case was ready before the time limit.
  template <class Rep, class Period>
  std::optional<std::size_t> wait_for(std::chrono::duration<Rep, Period> limit) {
    const std::int64_t deadline_ns = detail::deadline_in(limit);
    return run(deadline_ns == 0 ? 1 : deadline_ns);
  }
  template <class Clock, class Duration>
  std::optional<std::size_t> wait_until(std::chrono::time_point<Clock, Duration> limit) {
    std::optional<std::size_t> chosen;
    detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) {
      chosen = run(deadline_ns == 0 ? 1 : deadline_ns);
      return chosen.has_value();
    });
    return chosen;
  }

 private:
  struct entry {
    virtual ~entry() = default;
    virtual void describe(detail::select_case& out) = 0;
    virtual void finish(const detail::select_case& done) = 0;
  };
  template <class Case>
  struct case_entry final : entry {
    Case one;
    explicit case_entry(Case&& made) : one(std::move(made)) {}
    void describe(detail::select_case& out) override { one.describe(out); }
    void finish(const detail::select_case& done) override { one.finish(done); }
  };
  template <class T, class F>
  struct send_once_entry : entry {
    chan_sender<T> channel;
    std::optional<detail::carried<T>> value;
    F handler;
    send_once_entry(chan_sender<T> c, T&& v, F f) : channel(std::move(c)), handler(std::move(f)) {
      carry(std::move(v));
    }
    void carry(T&& v) {
      if constexpr (detail::is_boxed<T>) {
        value.emplace(std::make_unique<T>(std::move(v)));
      } else {
        value.emplace(std::move(v));
      }
    }
    void describe(detail::select_case& out) override {
      out = {value ? channel.core() : nullptr, value ? std::addressof(*value) : nullptr, true, false};
    }
    void finish(const detail::select_case&) override {
      value.reset();
      std::invoke(handler);
    }
  };
  template <class T, class F>
  struct send_entry final : send_once_entry<T, F> {
    T original;
    send_entry(chan_sender<T> c, T&& v, F f)
        : send_once_entry<T, F>(std::move(c), T(v), std::move(f)), original(std::move(v)) {}
    void describe(detail::select_case& out) override {
      if (!this->value) this->carry(T(original));
      send_once_entry<T, F>::describe(out);
    }
  };

  // While a handler runs, the cases it drops are kept, because its own may be among them.
  class running_handler {
   public:
    explicit running_handler(selector& of) : of_(of) { ++of_.handlers_running_; }
    ~running_handler() {
      if (--of_.handlers_running_ == 0) of_.dropped_.clear();
    }
    running_handler(const running_handler&) = delete;

   private:
    selector& of_;
  };

  std::size_t add(std::unique_ptr<entry> one) {
    cases_.push_back(std::move(one));
    return cases_.size() - 1;
  }
  template <class Case>
    requires detail::select_argument<Case>
  std::size_t add(Case&& one) {
    const std::size_t index = add(std::make_unique<case_entry<Case>>(std::move(one)));
    has_events_ = has_events_ || Case::kind == detail::case_kind::event;
    return index;
  }

  std::optional<std::size_t> run(std::int64_t deadline_ns) {
    std::array<detail::select_case, 8> small;
    std::vector<detail::select_case> large;
    detail::select_case* table = small.data();
    if (cases_.size() > small.size()) {
      large.resize(cases_.size());
      table = large.data();
    }
    for (std::size_t i = 0; i < cases_.size(); ++i) cases_[i]->describe(table[i]);
    const std::size_t chosen = has_events_ ? detail::select_among_all(table, cases_.size(), deadline_ns)
                                           : detail::select_among(table, cases_.size(), deadline_ns);
    if (chosen == detail::no_case) return std::nullopt;
    const running_handler running(*this);
    cases_[chosen]->finish(table[chosen]);
    return chosen;
  }

  std::vector<std::unique_ptr<entry>> cases_;
  std::vector<std::unique_ptr<entry>> dropped_;
  int handlers_running_ = 0;
  bool has_events_ = false;  // tasks or futures among the cases
};

}  // namespace weft
