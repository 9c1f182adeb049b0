// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>

#include "base/sanitizer.h"

// Atom<T>: an atomic whose every access names its memory order.
//   Job       make intent visible: no default seq_cst, each non-relaxed access says what it pairs with.
//   Model     lock-free classes take an `Atomics` parameter. StdAtomics here is what ships. tests/model has a class
//             with the same names over relacy's atomics, so the model checker explores the very source that ships.
//   Rejected  std::atomic_thread_fence(seq_cst): mfence under clang (20 ns against 2.5 ns for a locked operation).
namespace weft::base {

template <class T>
class Atom {
 public:
  constexpr Atom() noexcept : value_{} {}
  constexpr Atom(T initial) noexcept : value_(initial) {}  // NOLINT(google-explicit-constructor): as std::atomic
  Atom(const Atom&) = delete;
  Atom& operator=(const Atom&) = delete;

  T load_relaxed() const noexcept { return value_.load(std::memory_order_relaxed); }
  T load_acquire() const noexcept { return value_.load(std::memory_order_acquire); }
  T load_seq_cst() const noexcept { return value_.load(std::memory_order_seq_cst); }
  void store_relaxed(T v) noexcept { value_.store(v, std::memory_order_relaxed); }
  void store_release(T v) noexcept { value_.store(v, std::memory_order_release); }
  void store_seq_cst(T v) noexcept { value_.store(v, std::memory_order_seq_cst); }

  T exchange_relaxed(T v) noexcept { return value_.exchange(v, std::memory_order_relaxed); }
  T exchange_acquire(T v) noexcept { return value_.exchange(v, std::memory_order_acquire); }
  T exchange_acq_rel(T v) noexcept { return value_.exchange(v, std::memory_order_acq_rel); }
  T exchange_seq_cst(T v) noexcept { return value_.exchange(v, std::memory_order_seq_cst); }

  bool cas_relaxed(T& expected, T desired) noexcept { return cas<std::memory_order_relaxed>(expected, desired); }
  bool cas_acquire(T& expected, T desired) noexcept { return cas<std::memory_order_acquire>(expected, desired); }
  bool cas_release(T& expected, T desired) noexcept { return cas<std::memory_order_release>(expected, desired); }
  bool cas_acq_rel(T& expected, T desired) noexcept { return cas<std::memory_order_acq_rel>(expected, desired); }
  bool cas_seq_cst(T& expected, T desired) noexcept { return cas<std::memory_order_seq_cst>(expected, desired); }

  T fetch_add_relaxed(T v) noexcept { return value_.fetch_add(v, std::memory_order_relaxed); }
  T fetch_add_acq_rel(T v) noexcept { return value_.fetch_add(v, std::memory_order_acq_rel); }
  T fetch_add_seq_cst(T v) noexcept { return value_.fetch_add(v, std::memory_order_seq_cst); }
  T fetch_sub_release(T v) noexcept { return value_.fetch_sub(v, std::memory_order_release); }
  T fetch_sub_acq_rel(T v) noexcept { return value_.fetch_sub(v, std::memory_order_acq_rel); }
  T fetch_or_relaxed(T v) noexcept { return value_.fetch_or(v, std::memory_order_relaxed); }
  T fetch_or_acq_rel(T v) noexcept { return value_.fetch_or(v, std::memory_order_acq_rel); }
  T fetch_or_seq_cst(T v) noexcept { return value_.fetch_or(v, std::memory_order_seq_cst); }
  T fetch_and_relaxed(T v) noexcept { return value_.fetch_and(v, std::memory_order_relaxed); }
  T fetch_and_acq_rel(T v) noexcept { return value_.fetch_and(v, std::memory_order_acq_rel); }
  T fetch_and_seq_cst(T v) noexcept { return value_.fetch_and(v, std::memory_order_seq_cst); }

  // For counters with a single writer: an increment without a locked operation. Any thread may read the counter.
  void bump(T by = 1) noexcept {
    if (!add_in_place(by)) store_relaxed(static_cast<T>(load_relaxed() + by));
  }
  // For counters with a single writer: a reader that acquires the new number sees what the writer wrote before it.
  void bump_release() noexcept {
    std::atomic_signal_fence(std::memory_order_release);
    if (!add_in_place(1)) store_release(static_cast<T>(load_relaxed() + 1));
  }

  // The futex system call needs the address of the word.
  std::atomic<T>& raw() noexcept { return value_; }

 private:
  // Adds with one instruction, where compilers use three and a register. On x86 its store is a release.
  bool add_in_place([[maybe_unused]] T by) noexcept {
#if defined(__x86_64__) && !WEFT_TSAN_RUNTIME
    if constexpr (sizeof(T) == 8) {
      asm volatile("addq %1, %0" : "+m"(value_) : "er"(by) : "cc");
      return true;
    } else if constexpr (sizeof(T) == 4) {
      asm volatile("addl %1, %0" : "+m"(value_) : "ir"(by) : "cc");
      return true;
    }
#endif
    return false;
  }
  template <std::memory_order Success>
  bool cas(T& expected, T desired) noexcept {
    constexpr auto kFailure = Success == std::memory_order_acq_rel || Success == std::memory_order_acquire ||
                                      Success == std::memory_order_seq_cst
                                  ? std::memory_order_acquire
                                  : std::memory_order_relaxed;
    return value_.compare_exchange_strong(expected, desired, Success, kFailure);
  }
  std::atomic<T> value_;
};

struct StdAtomics {
  template <class T>
  using atom = Atom<T>;

  // StoreLoad barrier. On x86-64 one locked operation on the thread's own stack, because that line is hot in its core.
  static void full_fence() noexcept {
#if WEFT_TSAN_RUNTIME
    static constinit std::atomic<int> fence_word{0};
    fence_word.fetch_add(0, std::memory_order_seq_cst);  // TSan does not model fences, but it models this
#elif defined(__x86_64__)
    asm volatile("lock; orl $0, -64(%%rsp)" ::: "memory", "cc");
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }

  // The same, right behind an atomic read-modify-write of the same thread. On x86-64 that was a full barrier already, so
  // only the compiler has to be told.
  static void full_fence_after_rmw() noexcept {
#if defined(__x86_64__) && !WEFT_TSAN_RUNTIME
    std::atomic_signal_fence(std::memory_order_seq_cst);
#else
    full_fence();
#endif
  }
};

inline void full_fence() noexcept { StdAtomics::full_fence(); }

// Orders accesses for the compiler only. The other side of the pair calls os::process_barrier().
inline void compiler_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

// A hint to the core that this is a spin-wait.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

inline void cpu_relax(unsigned times) noexcept {
  for (unsigned i = 0; i < times; ++i) cpu_relax();
}

}  // namespace weft::base
