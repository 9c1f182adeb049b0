// SPDX-License-Identifier: MIT
#pragma once
#include "model/relacy_atomics.h"

namespace weft::model {

// Items 1..Items, each put and taken once. The payload is written before an item is published and read by whoever takes
// it, so relacy reports a race where the structure under test does not carry the order from the one to the other.
template <unsigned Items>
class Ledger {
 public:
  void put(unsigned item) { payload_[item](RL_INFO) = item; }
  void take(unsigned item) {
    RL_ASSERT(item >= 1 && item <= Items);
    RL_ASSERT(payload_[item](RL_INFO).load() == item);
    RL_ASSERT(!taken_[item]);
    taken_[item] = true;
    ++count_;
  }
  unsigned count() const { return count_; }
  void check_all_taken() const { RL_ASSERT(count_ == Items); }

 private:
  rl::var<unsigned> payload_[Items + 1];
  bool taken_[Items + 1] = {};  // the simulation's own knowledge: no thread of the model sees it
  unsigned count_ = 0;
};

}  // namespace weft::model
