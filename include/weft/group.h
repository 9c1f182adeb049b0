// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <exception>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/chan.h"
#include "weft/context.h"
#include "weft/detail/callable.h"
#include "weft/mutex.h"
#include "weft/wait_group.h"

namespace weft {

// Structured concurrency: goroutines that end before the group does. The first exception cancels the others.
// A group may be used again after wait(). Each wait() rethrows the first exception since the wait before. The context
// stays cancelled, as errgroup's does, because goroutines of the first round may still hold it; for a new context, make
// a new group.
class group {
  template <class F>
  static constexpr bool is_member = detail::is_kept<F> && (detail::is_callable_last<std::decay_t<F>, const context&> ||
                                                           detail::is_callable_last<std::decay_t<F>>);
#define WEFT_REFUSE_NONMEMBER(name, F)                                                         \
  static_assert(is_member<F>, name                                                             \
                ": the function must be callable without arguments or with one const "         \
                "weft::context&, and copied or moved in: give it the rest by capturing it in " \
                "a lambda")

 public:
  group() : group(context::background()) {}
  explicit group(const context& parent) : group(with_cancel(parent)) {}
  group(const group&) = delete;
  // Cancels the context, and waits for all goroutines.
  ~group() {
    cancel_();
    running_.wait();
  }

  // At most n goroutines at once: go() blocks until there is a place. Throws logic_error if n is 0, or if goroutines of
  // the group are running.
  void limit(std::size_t n) {
    if (n == 0) throw logic_error("weft: group::limit: at least one goroutine must be allowed");
    if (!running_.wait_for(std::chrono::nanoseconds(0)))
      throw logic_error("weft: group::limit: goroutines of the group are running");
    places_ = chan<std::monostate>(n, "places of a group");
  }

  // Starts f(const context&), or f() if it takes no context. Blocks while the limit is reached.
  template <class F>
  WEFT_ALWAYS_INLINE void go(F&& f) {
    WEFT_REFUSE_NONMEMBER("weft::group::go", F);
    if constexpr (is_member<F>) {
      detail::refuse_empty(f, "group::go");
      running_.go(member<std::decay_t<F>>(*this, place(places_), std::forward<F>(f)));
    }
  }
  template <class F>
  WEFT_ALWAYS_INLINE void go(const go_options& options, F&& f) {
    WEFT_REFUSE_NONMEMBER("weft::group::go", F);
    if constexpr (is_member<F>) {
      detail::refuse_empty(f, "group::go");
      running_.go(options, member<std::decay_t<F>>(*this, place(places_), std::forward<F>(f)));
    }
  }

  // As go(), but never blocks. False: the limit is reached, and f has neither been started nor moved from.
  template <class F>
  [[nodiscard]] WEFT_ALWAYS_INLINE bool try_go(F&& f) {
    WEFT_REFUSE_NONMEMBER("weft::group::try_go", F);
    if constexpr (is_member<F>) {
      detail::refuse_empty(f, "group::try_go");
      place held = place::if_free(places_);
      if (places_ && !held) return false;
      running_.go(member<std::decay_t<F>>(*this, std::move(held), std::forward<F>(f)));
    }
    return true;
  }
  template <class F>
  [[nodiscard]] WEFT_ALWAYS_INLINE bool try_go(const go_options& options, F&& f) {
    WEFT_REFUSE_NONMEMBER("weft::group::try_go", F);
    if constexpr (is_member<F>) {
      detail::refuse_empty(f, "group::try_go");
      place held = place::if_free(places_);
      if (places_ && !held) return false;
      running_.go(options, member<std::decay_t<F>>(*this, std::move(held), std::forward<F>(f)));
    }
    return true;
  }

  // Blocks until all goroutines have ended. Cancels ctx(), which they no longer use, and rethrows the first exception,
  // once.
  void wait() {
    running_.wait();
    cancel_();
    const std::lock_guard guard(mutex_);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }
  // As wait(). False: some goroutines still run at the time limit.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> limit) {
    if (!running_.wait_for(limit)) return false;
    wait();
    return true;
  }
  template <class Clock, class Duration>
  bool wait_until(std::chrono::time_point<Clock, Duration> limit) {
    if (!running_.wait_until(limit)) return false;
    wait();
    return true;
  }
  const context& ctx() const noexcept { return context_; }

#undef WEFT_REFUSE_NONMEMBER

 private:
  explicit group(std::pair<context, cancel_function> made)
      : context_(std::move(made.first)), cancel_(std::move(made.second)) {}

  // One of the places that the limit allows. The constructor blocks until there is one.
  class place {
   public:
    explicit place(const chan<std::monostate>& places) : places_(places) {
      if (places_) places_.send({});
    }
    // Empty if all places are taken, or if there is no limit.
    static place if_free(chan<std::monostate>& places) {
      place taken;
      if (places && places.try_send(std::monostate{})) taken.places_ = places;
      return taken;
    }
    place(place&&) noexcept = default;
    explicit operator bool() const noexcept { return static_cast<bool>(places_); }
    ~place() {
      if (places_) places_.try_recv();
    }

   private:
    place() noexcept : places_(chan<std::monostate>::nil()) {}
    chan<std::monostate> places_;  // nil: no limit, or moved from
  };

  // What a goroutine of the group runs. It keeps its place until its function has been destroyed, with all it has
  // captured.
  template <class F>
  class member {
   public:
    template <class G>
    member(group& of, place held, G&& f) : of_(&of), held_(std::move(held)), function_(std::forward<G>(f)) {}
    void operator()() {
      try {
        const context& its_context = of_->context_;
        if constexpr (detail::is_callable_last<F, const context&>) {
          detail::call_last(function_, its_context);
        } else {
          detail::call_last(function_);
        }
      } catch (...) {
        std::exception_ptr error = std::current_exception();
        if (error == nullptr) throw;  // this_goroutine::exit()
        of_->fail(std::move(error));
      }
    }

   private:
    group* of_;
    place held_;
    F function_;  // declared after the place, so destroyed before it
  };

  void fail(std::exception_ptr error) {
    {
      const std::lock_guard guard(mutex_);
      if (error_ == nullptr) error_ = error;
    }
    cancel_(error);
  }

  context context_;
  cancel_function cancel_;
  wait_group running_{"goroutines of a group"};
  mutex mutex_;
  std::exception_ptr error_;                                   // the first that no wait() has rethrown
  chan<std::monostate> places_ = chan<std::monostate>::nil();  // nil: no limit
};

}  // namespace weft
