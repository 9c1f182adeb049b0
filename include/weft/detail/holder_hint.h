// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

// The holder of a lock, for reports only (src/sched/observe/wait_graph.h). It is known by the low half of its
// goroutine's id, because ids are never used twice, while stacks and their addresses are. 0: a plain thread, or no
// holder. There is no memory order: a report learns from the lock's state whether a hint means anything.
//   One      A lock with a single holder keeps the hint in a word of its own: holder_hint.
//   Many     A lock that goroutines hold together is noted in each of them (shared_holds), not in the lock. The lock's
//            cache line is contended, and the lock may be gone when a reader has left. A goroutine that holds several
//            such locks may lose a note, and is not known as a holder then. A note stays behind if another goroutine
//            unlocks than has locked; then more holders are noted than there are.
namespace weft::detail {

// Offsets of Goroutine::id, ::reads and ::habits.controlled (src/sched/model/goroutine.h).
inline constexpr std::size_t goroutine_id_offset = 56, goroutine_reads_offset = 168, goroutine_controlled_offset = 51;

// The current goroutine, as the address of its Goroutine; null: a plain thread. It is the first word of weft_current
// (src/os/current.h).
inline char* self() noexcept {
  char* goroutine;
#if defined(__x86_64__)
  asm volatile(
      "movq weft_current@gottpoff(%%rip), %0\n\t"
      "movq %%fs:(%0), %0"
      : "=r"(goroutine));
#elif defined(__aarch64__)
  std::uint64_t scratch;
  asm volatile(
      "mrs %1, tpidr_el0\n\t"
      "adrp %0, :gottprel:weft_current\n\t"
      "ldr %0, [%0, #:gottprel_lo12:weft_current]\n\t"
      "ldr %0, [%1, %0]"
      : "=&r"(goroutine), "=&r"(scratch));
#else
#error "weft runs on x86-64 and aarch64"
#endif
  return goroutine;
}

inline std::uint32_t hint_of(const char* goroutine) noexcept {
  std::uint32_t id;
  __builtin_memcpy(&id, goroutine + goroutine_id_offset, sizeof id);
  return id;
}
// Called before the exchange that takes a lock, so that the loads overlap with the exchange.
inline std::uint32_t self_hint() noexcept {
  const char* goroutine = self();
  if (goroutine == nullptr) [[unlikely]]
    return 0;
  return hint_of(goroutine);
}

// self_hint() of a locker, and what it expects in the word of a free lock: 0, or in a goroutine that a test controls 255.
// Then the exchange fails, and the slow path is a point where another goroutine may go on.
inline std::uint32_t begin_lock(std::uint32_t& free) noexcept {
  const char* goroutine = self();
  if (goroutine == nullptr) [[unlikely]] {
    free = 0;
    return 0;
  }
  free = static_cast<unsigned char>(goroutine[goroutine_controlled_offset]);
  return hint_of(goroutine);
}

void switch_point_slow() noexcept;
// In a goroutine that a test controls, another goroutine may go on here (weft/testing.h).
inline void switch_point() noexcept {
  const char* goroutine = self();
  if (goroutine != nullptr && goroutine[goroutine_controlled_offset] != 0) [[unlikely]]
    switch_point_slow();
}

// The single holder of a lock.
class holder_hint {
 public:
  void note(std::uint32_t who) noexcept { who_.store(who, std::memory_order_relaxed); }
  std::uint32_t who() const noexcept { return who_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> who_{0};
};

// The locks that one goroutine holds together with others. Written by the goroutine itself or, while it sleeps, by the
// thread that gives it a lock.
class shared_holds {
 public:
  static constexpr std::size_t places = 4;
  void note(const void* lock, std::uint32_t who) noexcept {
    entry& one = at(lock);
    one.lock.store(low_half(lock), std::memory_order_relaxed);
    one.who.store(who, std::memory_order_relaxed);  // the next goroutine in this place has another id
  }
  void forget(const void* lock) noexcept { at(lock).lock.store(0, std::memory_order_relaxed); }

  struct entry {
    std::uint32_t noted_lock() const noexcept { return lock.load(std::memory_order_relaxed); }
    std::uint32_t noted_holder() const noexcept { return who.load(std::memory_order_relaxed); }
    std::atomic<std::uint32_t> lock{0}, who{0};
  };
  const entry* begin() const noexcept { return entries_; }
  const entry* end() const noexcept { return entries_ + places; }
  static std::uint32_t low_half(const void* lock) noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(lock));
  }

 private:
  entry& at(const void* lock) noexcept { return entries_[low_half(lock) / 16 % places]; }
  entry entries_[places];
};

inline void note_read(const void* lock) noexcept {
  if (char* goroutine = self(); goroutine != nullptr) [[likely]]
    reinterpret_cast<shared_holds*>(goroutine + goroutine_reads_offset)->note(lock, hint_of(goroutine));
}
inline void forget_read(const void* lock) noexcept {
  if (char* goroutine = self(); goroutine != nullptr) [[likely]]
    reinterpret_cast<shared_holds*>(goroutine + goroutine_reads_offset)->forget(lock);
}

}  // namespace weft::detail
