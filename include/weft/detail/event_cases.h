// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/detail/chan_core.h"

// Cases of a select that wait for the end of a task or for a future.
namespace weft::detail {

class task_core;
class future_core;

struct no_handler {
  template <class... A>
  void operator()(A&&...) const noexcept {}
};

// event: a task or a future.
enum class case_kind { channel, event, timeout, otherwise };

template <class T>
concept task_type = requires(const std::remove_cvref_t<T>& task) {
  { task.core() } -> std::convertible_to<task_core*>;
};
template <class T>
concept joinable_type = task_type<T> && !std::is_const_v<std::remove_reference_t<T>>;
template <class T>
concept future_type = requires(const std::remove_cvref_t<T>& future) {
  { future.core() } -> std::convertible_to<future_core*>;
};
template <class T>
concept awaitable_type = task_type<T> || future_type<T>;

// A task that was joined and a future whose value was taken are never ready, like a nil channel.
template <awaitable_type T>
select_case case_of(const T& one) noexcept {
  auto* core = one.core();
  if (core == nullptr) return {nullptr, nullptr, false, false};
  if constexpr (task_type<T>) {
    return {nullptr, static_cast<task_core*>(core), false, false, case_source::task};
  } else {
    return {nullptr, std::addressof(core->pending()), false, false, case_source::future};
  }
}

// Whether the handler takes what join() returns.
template <class Task, class F>
inline constexpr bool handles_join = std::is_invocable_v<F&, decltype(std::declval<Task&>().join())>;
template <class Task, class F>
  requires std::is_void_v<decltype(std::declval<Task&>().join())>
inline constexpr bool handles_join<Task, F> = std::is_invocable_v<F&>;

// Held: Task& if the caller keeps the task, Task if the caller gave it away.
template <class Held, class F>
struct join_case {
  static constexpr case_kind kind = case_kind::event;
  Held task;
  F handler;

  void describe(select_case& out) { out = case_of(task); }
  void finish(const select_case&) {
    if constexpr (std::is_void_v<decltype(task.join())>) {
      task.join();
      std::invoke(handler);
    } else {
      std::invoke(handler, task.join());
    }
  }
};

template <class Future, class F>
inline constexpr bool handles_ready =
    std::is_invocable_v<F&, Future&> || std::is_invocable_v<F&, Future> || std::is_invocable_v<F&>;

template <class Held, class F>
struct ready_case {
  static constexpr case_kind kind = case_kind::event;
  Held future;
  F handler;

  void describe(select_case& out) { out = case_of(future); }
  void finish(const select_case&) {
    if constexpr (std::is_invocable_v<F&, std::remove_reference_t<Held>&>) {
      std::invoke(handler, future);
    } else if constexpr (std::is_invocable_v<F&, std::remove_reference_t<Held>>) {
      std::invoke(handler, std::move(future));  // taken by value: the handler owns it from now on
    } else {
      std::invoke(handler);
    }
  }
};

}  // namespace weft::detail
