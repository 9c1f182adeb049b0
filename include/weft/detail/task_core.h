// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/detail/callable.h"
#include "weft/detail/happens_before.h"

namespace weft::detail {

// Memory for small shared states: the P's cache of 64-byte blocks.
inline constexpr std::size_t block_size = 64;
void free_block(void* block) noexcept;

struct Joiner;  // src/api/joiner.h

// What a joinable goroutine and its task share. A task has one owner, so there is one waiter at a time.
class task_core {
 public:
  task_core();
  task_core(const task_core&) = delete;

  bool done() const noexcept {
    const bool is_over = word_.load(std::memory_order_acquire) == kDone;  // pairs: task.word
    if (is_over) order_acquire(&word_);
    return is_over;
  }
  bool wait_until(std::int64_t deadline_ns) noexcept;  // false: the time limit
  void wait() noexcept {
    if (!done()) wait_slow();
  }
  std::uint64_t id() const noexcept { return id_; }
  // For a select. False: the goroutine is done. Otherwise the goroutine fires the joiner's Choice when it is done,
  // unless withdraw() has returned before. withdraw() returns whether the goroutine is done now.
  bool enlist(Joiner& joiner) noexcept;
  bool withdraw(Joiner& joiner) noexcept;

  // The goroutine's side.
  void begin() noexcept;  // the goroutine takes over the id
  // Wakes the waiter, if there is one. True: the task has let go, and the caller must destroy the state.
  [[nodiscard]] bool finish() noexcept;
  std::exception_ptr error;

  // The task lets go of the state. True: the goroutine is done, and the caller must destroy the state.
  bool abandon() noexcept {
    order_release(&word_);
    const bool is_over =
        done() || word_.exchange(kAbandoned, std::memory_order_acq_rel) == kDone;  // pairs: task.word
    if (is_over) order_acquire(&word_);
    return is_over;
  }

 private:
  void wait_slow() noexcept;
  static constexpr std::uintptr_t kDone = 1, kWaiter = 2, kAbandoned = 3;
  std::atomic<std::uintptr_t> word_{0};  // 0, kDone, kAbandoned, a parked goroutine, or a waiter | kWaiter
  std::uint64_t id_;

 public:
  bool exited = false;
  bool is_main = false;  // run(): leaving by exit() ends the goroutine, not the wait
};

template <class T>
struct task_state : task_core {
  using stored = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, std::remove_cv_t<T>>;
  std::optional<stored> value;

  template <class F>
  void produce(F& f) {
    if constexpr (std::is_reference_v<T>) {
      auto&& result = call_last(f);  // named, because std::addressof refuses what an rvalue reference refers to
      value.emplace(std::addressof(result));
    } else {
      value.emplace(call_last(f));
    }
  }
  T take() {
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(**value);
    } else {
      return std::move(*value);
    }
  }
};

template <>
struct task_state<void> : task_core {
  template <class F>
  void produce(F& f) {
    call_last(f);
  }
  void take() {}
};

// Uses the block that came with the record, if the state fits.
template <class State>
State* make_state([[maybe_unused]] void* block) {
  if constexpr (sizeof(State) <= block_size && alignof(State) <= block_size) {
    return ::new (block) State;
  } else {
    return new State;
  }
}

template <class State>
void destroy_state(State* state) noexcept {
  if constexpr (sizeof(State) <= block_size && alignof(State) <= block_size) {
    std::destroy_at(state);
    free_block(state);
  } else {
    delete state;
  }
}

}  // namespace weft::detail
