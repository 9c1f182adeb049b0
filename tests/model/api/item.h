// SPDX-License-Identifier: MIT
#pragma once
#include "weft/detail/chan_core.h"

#include "model/relacy_atomics.h"

namespace weft::model {

// An element whose every move is an access that relacy watches: a hand-off without order, or into a frame that its owner has left
// or is using again, is a race.
class Item {
 public:
  explicit Item(unsigned value) {
    value_(RL_INFO) = value;
    ++alive;
  }
  ~Item() { --alive; }
  Item(const Item&) = delete;
  unsigned value() const { return value_(RL_INFO).load(); }

  static void move(void* to, void* from) noexcept {
    Item& source = *static_cast<Item*>(from);
    ::new (to) Item(source.value());
    source.value_(RL_INFO) = 0;
  }
  static void destroy(void* item) noexcept { static_cast<Item*>(item)->~Item(); }
  static inline int alive;
  static const detail::element_ops kOps;

 private:
  rl::var<unsigned> value_;
};
inline constexpr detail::element_ops Item::kOps{sizeof(Item), alignof(Item), &Item::move, &Item::destroy};

// Where a receiver lets one be put.
class Room {
 public:
  unsigned take() {
    Item& item = *std::launder(reinterpret_cast<Item*>(storage_));
    const unsigned value = item.value();
    item.~Item();
    return value;
  }

 private:
  alignas(Item) std::byte storage_[sizeof(Item)];
};

// The simulation's own knowledge of what has arrived.
class Received {
 public:
  void note(unsigned value) {
    RL_ASSERT(count_ < 8);
    values_[count_++] = value;
  }
  void check_in_order(unsigned count) const {
    RL_ASSERT(count_ == count);
    for (unsigned i = 0; i < count_; ++i) RL_ASSERT(values_[i] == i + 1);
  }
  void check_each_once(unsigned count) const {
    RL_ASSERT(count_ == count);
    unsigned seen = 0;
    for (unsigned i = 0; i < count_; ++i) seen |= 1u << values_[i];
    RL_ASSERT(seen == ((2u << count) - 2));
  }
  unsigned count() const { return count_; }

 private:
  unsigned values_[8] = {};
  unsigned count_ = 0;
};

}  // namespace weft::model
