// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "weft/detail/spawn_record.h"

namespace weft::sched {

struct Goroutine;
using SpawnRecord = weft::detail::spawn_record;

// The element of run queues, one word: a started goroutine, or the record of a goroutine that has not run yet.
class Runnable {
 public:
  constexpr Runnable() noexcept = default;
  explicit Runnable(Goroutine* g) noexcept : bits_(reinterpret_cast<std::uintptr_t>(g)) {}
  Runnable(SpawnRecord* record, bool has_extra) noexcept
      : bits_(reinterpret_cast<std::uintptr_t>(record) | kRecord | (has_extra ? kExtra : 0)) {}
  static Runnable from_bits(std::uintptr_t bits) noexcept {
    Runnable runnable;
    runnable.bits_ = bits;
    return runnable;
  }

  explicit operator bool() const noexcept { return bits_ != 0; }
  bool operator==(const Runnable&) const noexcept = default;
  bool is_record() const noexcept { return (bits_ & kRecord) != 0; }
  bool has_extra() const noexcept { return (bits_ & kExtra) != 0; }  // its closure's first word points to a SpawnExtra
  Goroutine* goroutine() const noexcept { return reinterpret_cast<Goroutine*>(bits_); }
  SpawnRecord* record() const noexcept { return reinterpret_cast<SpawnRecord*>(bits_ & ~(kRecord | kExtra)); }
  std::uintptr_t bits() const noexcept { return bits_; }

 private:
  static constexpr std::uintptr_t kRecord = 1, kExtra = 2;
  std::uintptr_t bits_ = 0;
};

// The intrusive link of a goroutine or record. Both kinds keep one word for it. A goroutine's is its second word
// (checked in goroutine.h).
inline constexpr std::size_t kGoroutineLinkOffset = 8;
inline std::uintptr_t& link_of(Runnable runnable) noexcept {
  return runnable.is_record() ? runnable.record()->link
                              : *reinterpret_cast<std::uintptr_t*>(runnable.bits() + kGoroutineLinkOffset);
}

struct RunnableLinks {  // for Inbox
  static Runnable next(Runnable runnable) noexcept { return Runnable::from_bits(link_of(runnable)); }
  static void set_next(Runnable runnable, Runnable next) noexcept { link_of(runnable) = next.bits(); }
};

// A FIFO chain through those links. append() takes O(1).
class RunnableList {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

  void push(Runnable runnable) noexcept {
    link_of(runnable) = 0;
    if (last_) {
      link_of(last_) = runnable.bits();
    } else {
      first_ = runnable;
    }
    last_ = runnable;
    ++size_;
  }
  Runnable pop() noexcept {
    const Runnable front = first_;
    if (!front) return front;
    first_ = Runnable::from_bits(link_of(front));
    if (!first_) last_ = Runnable();
    --size_;
    return front;
  }
  void append(RunnableList& other) noexcept {
    if (other.empty()) return;
    if (last_) {
      link_of(last_) = other.first_.bits();
    } else {
      first_ = other.first_;
    }
    last_ = other.last_;
    size_ += other.size_;
    other = RunnableList();
  }
  Runnable front() const noexcept { return first_; }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (Runnable one = first_; one; one = RunnableLinks::next(one)) visit(one);
  }

 private:
  Runnable first_, last_;
  std::size_t size_ = 0;
};

}  // namespace weft::sched
