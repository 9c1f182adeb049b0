// SPDX-License-Identifier: MIT
#pragma once
#include <utility>

#include "weft/detail/chan_core.h"

namespace weft::detail {

class case_channel;

// A temporary of the expression in which a case is made: the default argument of on_recv and on_send. A case that
// outlives it (returned from a function, kept in a variable) counts a reference to its channel from then on.
class full_expression {
 public:
  full_expression() = default;
  full_expression(const full_expression&) = delete;
  ~full_expression();

 private:
  friend class case_channel;
  case_channel* borrower_ = nullptr;
};

// The channel of a case.
//   Borrowed  If the caller named a handle, because counting it would cost two atomic operations for each case. The
//             handle lives until the expression ends, and select returns before that.
//   Owned     If the caller gave a handle away, or once the case is moved or outlives the expression. The temporaries
//             of an expression are destroyed before the variables of its block, so the handle still lives when its
//             channel is counted.
class case_channel {
 public:
  case_channel(chan_core* borrowed, full_expression& until) noexcept : core_(borrowed), until_(&until) {
    until.borrower_ = this;
  }
  explicit case_channel(chan_core* owned) noexcept : core_(owned) {}
  case_channel(case_channel&& other) noexcept {
    other.own();
    core_ = std::exchange(other.core_, nullptr);
  }
  case_channel& operator=(case_channel&&) = delete;
  ~case_channel() {
    if (until_ != nullptr) {
      until_->borrower_ = nullptr;
    } else if (core_ != nullptr) {
      release_chan(core_);
    }
  }

  chan_core* core() const noexcept { return core_; }
  void own() noexcept {
    if (until_ == nullptr) return;
    if (core_ != nullptr) retain_chan(core_);
    until_->borrower_ = nullptr;
    until_ = nullptr;
  }

 private:
  chan_core* core_;
  full_expression* until_ = nullptr;  // null: owned
};

inline full_expression::~full_expression() {
  if (borrower_ != nullptr) borrower_->own();
}

}  // namespace weft::detail
