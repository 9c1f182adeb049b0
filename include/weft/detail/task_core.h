// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace weft::detail {

// What a joinable goroutine and its task share. One waiter at a time: a task has one owner.
class task_core {
 public:
  task_core();
  task_core(const task_core&) = delete;

  bool done() const noexcept { return word_.load(std::memory_order_acquire) == kDone; }
  bool wait_until(std::int64_t deadline_ns) noexcept;  // false: the time limit
  void wait() noexcept {
    if (!done()) wait_slow();
  }
  std::uint64_t id() const noexcept { return id_; }

  // The goroutine's side.
  void begin() noexcept;   // takes over the id
  void finish() noexcept;  // wakes whoever waits
  std::exception_ptr error;
  bool exited = false;
  bool is_main = false;  // run(): leaving by exit() ends the goroutine, not the wait

  // True: that was the last of the two.
  bool drop() noexcept { return references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  void wait_slow() noexcept;
  static constexpr std::uintptr_t kDone = 1;
  std::atomic<std::uintptr_t> word_{0};  // 0, kDone, or the waiter
  std::atomic<std::uint32_t> references_{2};
  std::uint64_t id_;
};

template <class T>
struct task_state : task_core {
  using stored = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, T>;
  std::optional<stored> value;

  template <class F>
  void produce(F& f) {
    if constexpr (std::is_reference_v<T>) {
      value.emplace(std::addressof(f()));
    } else {
      value.emplace(f());
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
    f();
  }
  void take() {}
};

// Runs f for the state and drops the goroutine's reference, whichever way f ends.
template <class State, class F>
void run_for_task(State* state, F& f);

}  // namespace weft::detail
