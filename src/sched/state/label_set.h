// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/atomic.h"

// What weft::labels says of a goroutine.
//   Sharing   A set never changes and is counted: a goroutine, its children and samples of a profile share one.
//   Readers   The goroutine itself, and handlers of signals that interrupt it, read the holder without a lock: a set is
//             taken out of the holder before it is released. All others lock label_lock_of(goroutine) (goroutine_labels.h), as the goroutine
//             does when it changes the set.
namespace weft::sched {

class LabelSet {
 public:
  using Pair = std::pair<std::string, std::string>;
  // One reference, the caller's. Throws std::bad_alloc.
  static const LabelSet* create(std::vector<Pair> pairs);

  const std::vector<Pair>& pairs() const noexcept { return pairs_; }
  // "user=alice, path=/index", with control characters escaped.
  const std::string& text() const noexcept { return text_; }

  static const LabelSet* share(const LabelSet* set) noexcept {  // null stays null
    if (set != nullptr) set->references_.fetch_add_relaxed(1);
    return set;
  }
  static void release(const LabelSet* set) noexcept {
    if (set != nullptr && set->references_.fetch_sub_acq_rel(1) == 1) delete set;  // pairs: label_set (self)
  }

 private:
  explicit LabelSet(std::vector<Pair> pairs);
  mutable base::Atom<std::uint32_t> references_{1};
  std::vector<Pair> pairs_;
  std::string text_;
};

// Owns one reference.
class LabelHolder {
 public:
  LabelHolder() = default;
  LabelHolder(const LabelHolder&) = delete;
  ~LabelHolder() { LabelSet::release(exchange(nullptr)); }

  bool empty() const noexcept { return set_.load_relaxed() == nullptr; }
  const LabelSet* look() const noexcept { return set_.load_relaxed(); }
  const LabelSet* share() const noexcept { return LabelSet::share(look()); }
  // Takes the caller's reference and hands out the one it had.
  const LabelSet* exchange(const LabelSet* next) noexcept {
    const LabelSet* last = set_.load_relaxed();
    set_.store_relaxed(next);
    asm volatile("" ::: "memory");  // a handler on this thread sees the new set from here on
    return last;
  }

 private:
  base::Atom<const LabelSet*> set_{nullptr};
};

// Null from here on for handlers of this thread. Returns what it was.
template <class T>
T* hide_from_handlers(T*& place) noexcept {
  T* was = std::exchange(place, nullptr);
  asm volatile("" ::: "memory");
  return was;
}

// Appends the text with control characters as \xNN, so that it cannot pass for something else.
void append_escaped(std::string& out, std::string_view text);

}  // namespace weft::sched
