// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "api/chan_core.h"

namespace weft::detail {

// The locks of all channels of a select, held together.
//   Tried first  One after the other, in the order of the cases. The select waits for none of them, so no lock order is
//                needed, and nothing is sorted.
//   In order     If one of them is taken, perhaps by this select itself (a channel in two cases), all are released.
//                Then each is waited for once, in the order of their addresses. Every thread that waits for one channel
//                lock while it holds another uses that order.
class CaseLocks {
 public:
  static constexpr std::size_t kOnStack = 8;

  CaseLocks(const select_case* cases, std::size_t count) noexcept : cases_(cases), count_(count) {}
  CaseLocks(const CaseLocks&) = delete;

  void lock() {
    if (WEFT_UNLIKELY(!try_lock())) lock_in_order();
    os::note_rank_taken(base::Rank::kWaitList);  // all locks together count as one
  }
  void unlock() noexcept {
    os::note_rank_released(base::Rank::kWaitList);
    if (WEFT_LIKELY(ordered_ == nullptr)) {
      unlock_cases(count_);
    } else {
      for (std::size_t i = 0; i < distinct_; ++i) ordered_[i]->lock().unlock_unranked();
    }
  }

 private:
  bool try_lock() noexcept {
    for (std::size_t i = 0; i < count_; ++i)
      if (cases_[i].channel != nullptr && WEFT_UNLIKELY(!cases_[i].channel->lock().try_lock_unranked())) {
        unlock_cases(i);
        return false;
      }
    return true;
  }
  void unlock_cases(std::size_t end) noexcept {
    for (std::size_t i = 0; i < end; ++i)
      if (cases_[i].channel != nullptr) cases_[i].channel->lock().unlock_unranked();
  }

  __attribute__((noinline)) void lock_in_order() {
    ordered_ = few_;
    if (count_ > kOnStack) {
      many_.resize(count_);
      ordered_ = many_.data();
    }
    chan_core** end = ordered_;
    for (std::size_t i = 0; i < count_; ++i)
      if (cases_[i].channel != nullptr) *end++ = cases_[i].channel;
    std::sort(ordered_, end);
    distinct_ = static_cast<std::size_t>(std::unique(ordered_, end) - ordered_);
    for (std::size_t i = 0; i < distinct_; ++i) ordered_[i]->lock().lock_unranked();
  }

  const select_case* cases_;
  std::size_t count_;
  chan_core** ordered_ = nullptr;  // null: each case's channel has been locked
  std::size_t distinct_ = 0;
  chan_core* few_[kOnStack];
  std::vector<chan_core*> many_;
};

}  // namespace weft::detail
