// SPDX-License-Identifier: MIT
#pragma once
#include <utility>
#include <variant>

#include "weft/chan.h"

namespace weft::detail {

// Lets a select wait for the next change of an object that is no channel. The bell is a channel that the next change
// takes away and closes. It is made when a receiver asks for one.
//   Guarded  By the lock of the object that changes. Closing takes the channel's lock, so it comes after that lock is
//            released.
//   No loss  A receiver that sees under the lock that there is nothing new takes the bell under the same lock. So the
//            next change finds this bell, and closes it.
class change_bell {
 public:
  using bell = chan<std::monostate>;
  // Under the lock. `fresh` is used if there is none.
  const bell& get(bell& fresh) noexcept {
    if (!current_) std::swap(current_, fresh);
    return current_;
  }
  // Under the lock, at a change: the bell to ring after the lock; nil if no receiver has asked.
  bell take() noexcept { return std::exchange(current_, bell::nil()); }
  static void ring(const bell& taken) {
    if (taken) close_chan(taken.core());  // harmless if the user has closed it
  }

 private:
  bell current_ = bell::nil();
};

// The channel that a receiver waits for in a select; it is closed if there is something new. `last` is the bell that
// the receiver got before.
template <class IsReady, class NextBell>
const change_bell::bell& ready_bell(change_bell::bell& last, const char* name, IsReady is_ready, NextBell next_bell) {
  if (last && !last.closed()) return last;  // the next change closes it, perhaps just now
  const bool ready = is_ready();
  if (last && ready) return last;
  change_bell::bell fresh(0, name);
  if (ready || !next_bell(fresh)) close_chan(fresh.core());
  last = std::move(fresh);
  return last;
}

}  // namespace weft::detail
