// SPDX-License-Identifier: MIT
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/detail/launch.h"
#include "weft/once.h"

// Functions that run once, as Go's sync.OnceFunc and sync.OnceValue.
namespace weft {

namespace detail {

// A function and, after its first call, its result or exception.
template <class F>
class once_call {
  using result = std::invoke_result_t<F&>;
  static constexpr bool has_value = !std::is_void_v<result>;
  static constexpr bool is_reference = std::is_reference_v<result>;
  struct nothing {};
  using stored = std::conditional_t<!has_value, nothing,
                                    std::conditional_t<is_reference, std::remove_reference_t<result>*,
                                                       std::remove_cv_t<std::remove_reference_t<result>>>>;

 public:
  template <class G>
  explicit once_call(G&& f) : function_(std::in_place, std::forward<G>(f)) {}

  // If the function leaves by this_goroutine::exit(), it counts as not called.
  void run() {
    call_once(once_, [this] {
      try {
        call();
      } catch (...) {
        error_ = std::current_exception();
        if (error_ == nullptr) throw;  // this_goroutine::exit()
      }
      function_.reset();  // frees what it has captured
    });
    if (error_) std::rethrow_exception(error_);
  }
  decltype(auto) value() const noexcept {
    if constexpr (is_reference) {
      return static_cast<result>(**value_);
    } else {
      return static_cast<const stored&>(*value_);
    }
  }

 private:
  void call() {
    if constexpr (!has_value) {
      std::invoke(*function_);
    } else if constexpr (is_reference) {
      auto&& made = std::invoke(*function_);
      value_ = std::addressof(made);
    } else {
      value_.emplace(std::invoke(*function_));
    }
  }

  once_flag once_;
  std::optional<F> function_;
  std::optional<stored> value_;
  std::exception_ptr error_;
};

template <class F>
class once_func_handle {
 public:
  explicit once_func_handle(std::shared_ptr<once_call<F>> call) noexcept : call_(std::move(call)) {}
  void operator()() const { call_->run(); }

 private:
  std::shared_ptr<once_call<F>> call_;
};

template <class F>
class once_value_handle {
 public:
  explicit once_value_handle(std::shared_ptr<once_call<F>> call) noexcept : call_(std::move(call)) {}
  decltype(auto) operator()() const {
    call_->run();
    return call_->value();
  }

 private:
  std::shared_ptr<once_call<F>> call_;
};

}  // namespace detail

// A callable whose first call runs f; calls at the same time block until f has run. If f throws, every call throws that
// exception. Copies of the callable share f, which runs once for all of them. f is destroyed, with all it has captured,
// when it has run.
template <class F>
[[nodiscard]] auto once_func(F&& f) {
  static_assert(std::is_invocable_v<std::decay_t<F>&>,
                "weft::once_func: the function must be callable without arguments");
  detail::refuse_empty(f, "once_func");
  using function = std::decay_t<F>;
  return detail::once_func_handle<function>(std::make_shared<detail::once_call<function>>(std::forward<F>(f)));
}

// The same with a value: every call returns a const reference to it, which lives as long as a copy of the callable. If
// f returns a reference, every call returns that reference.
template <class F>
[[nodiscard]] auto once_value(F&& f) {
  static_assert(std::is_invocable_v<std::decay_t<F>&>,
                "weft::once_value: the function must be callable without arguments");
  static_assert(!std::is_void_v<std::invoke_result_t<std::decay_t<F>&>>,
                "weft::once_value: the function returns nothing; once_func is for such");
  detail::refuse_empty(f, "once_value");
  using function = std::decay_t<F>;
  return detail::once_value_handle<function>(std::make_shared<detail::once_call<function>>(std::forward<F>(f)));
}

}  // namespace weft
