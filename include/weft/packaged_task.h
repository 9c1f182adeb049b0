// SPDX-License-Identifier: MIT
#pragma once
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/detail/launch.h"
#include "weft/future.h"

namespace weft {

namespace detail {

// The signature of a class's one operator().
template <class Member>
struct call_signature {};
#define WEFT_CALL_SIGNATURE(qualifiers)                           \
  template <class R, class C, class... A>                         \
  struct call_signature<R (C::*)(A...) qualifiers> {              \
    using type = R(A...);                                         \
  };
WEFT_CALL_SIGNATURE()
WEFT_CALL_SIGNATURE(const)
WEFT_CALL_SIGNATURE(&)
WEFT_CALL_SIGNATURE(const&)
WEFT_CALL_SIGNATURE(noexcept)
WEFT_CALL_SIGNATURE(const noexcept)
WEFT_CALL_SIGNATURE(& noexcept)
WEFT_CALL_SIGNATURE(const& noexcept)
#undef WEFT_CALL_SIGNATURE

}  // namespace detail

template <class Signature>
class packaged_task;

// As std::packaged_task: a function whose result or exception goes to a future. Move-only; the function may be so, too.
// If the function leaves by this_goroutine::exit(), there is no result: the future gets broken_promise when the task
// goes. There is no make_ready_at_thread_exit(), because goroutines change threads.
template <class R, class... A>
class packaged_task<R(A...)> {
 public:
  packaged_task() noexcept = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, packaged_task> && std::is_invocable_r_v<R, std::decay_t<F>&, A...>)
  explicit packaged_task(F&& f) {
    detail::refuse_empty(f, "packaged_task");
    function_ = std::make_unique<holder<std::decay_t<F>>>(std::forward<F>(f));
    promise_.emplace();
  }
  packaged_task(packaged_task&& other) noexcept
      : function_(std::move(other.function_)),
        promise_(std::exchange(other.promise_, std::nullopt)),
        has_run_(std::exchange(other.has_run_, false)) {}
  packaged_task& operator=(packaged_task&& other) noexcept {
    packaged_task(std::move(other)).swap(*this);
    return *this;
  }
  void swap(packaged_task& other) noexcept {
    std::swap(function_, other.function_);
    std::swap(promise_, other.promise_);
    std::swap(has_run_, other.has_run_);
  }
  friend void swap(packaged_task& first, packaged_task& second) noexcept { first.swap(second); }

  bool valid() const noexcept { return function_ != nullptr; }
  [[nodiscard]] future<R> get_future() { return need().get_future(); }

  // A second call throws std::future_error (promise_already_satisfied), and the function does not run again.
  void operator()(A... arguments) {
    promise<R>& result = need();
    if (has_run_) throw std::future_error(std::future_errc::promise_already_satisfied);
    has_run_ = true;
    try {
      function_->call(result, std::forward<A>(arguments)...);
    } catch (...) {
      std::exception_ptr error = std::current_exception();
      if (error == nullptr) throw;  // this_goroutine::exit()
      result.set_exception(std::move(error));
    }
  }

  // Lets the function be called again, with a new future. The old future gets broken_promise if it has no result.
  void reset() {
    need();
    promise_ = promise<R>();
    has_run_ = false;
  }

 private:
  struct base {
    virtual ~base() = default;
    virtual void call(promise<R>& result, A... arguments) = 0;
  };
  template <class F>
  struct holder final : base {
    template <class G>
    explicit holder(G&& f) : function(std::forward<G>(f)) {}
    void call(promise<R>& result, A... arguments) override {
      if constexpr (std::is_void_v<R>) {
        std::invoke(function, std::forward<A>(arguments)...);
        result.set_value();
      } else if constexpr (std::is_reference_v<R>) {
        R value = std::invoke(function, std::forward<A>(arguments)...);
        result.set_value(value);
      } else {
        result.set_value(std::invoke(function, std::forward<A>(arguments)...));
      }
    }
    F function;
  };

  promise<R>& need() {
    if (function_ == nullptr) throw std::future_error(std::future_errc::no_state);
    return *promise_;
  }

  std::unique_ptr<base> function_;  // null: not valid
  std::optional<promise<R>> promise_;
  bool has_run_ = false;
};

template <class R, class... A>
packaged_task(R (*)(A...)) -> packaged_task<R(A...)>;
template <class F, class Signature = typename detail::call_signature<decltype(&F::operator())>::type>
packaged_task(F) -> packaged_task<Signature>;

}  // namespace weft
