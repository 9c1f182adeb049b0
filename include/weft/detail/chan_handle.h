// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <utility>

#include "weft/detail/chan_core.h"

namespace weft::detail {

// What every handle of a channel has: a counted reference, and the questions that all handles answer. Copies name the
// same channel. A handle that has been moved from is nil.
class chan_handle {
 public:
  std::size_t size() const noexcept { return core_ != nullptr ? chan_size(core_) : 0; }
  std::size_t capacity() const noexcept { return core_ != nullptr ? chan_capacity(core_) : 0; }
  bool closed() const noexcept { return core_ != nullptr && chan_closed(core_); }
  explicit operator bool() const noexcept { return core_ != nullptr; }

  // For select and timers.
  chan_core* core() const noexcept { return core_; }
  chan_core* detach() noexcept { return std::exchange(core_, nullptr); }

 protected:
  explicit chan_handle(chan_core* adopted) noexcept : core_(adopted) {}
  chan_handle(const chan_handle& other) noexcept : core_(other.core_) {
    if (core_ != nullptr) retain_chan(core_);
  }
  chan_handle(chan_handle&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  chan_handle& operator=(const chan_handle& other) noexcept { return *this = chan_handle(other); }
  chan_handle& operator=(chan_handle&& other) noexcept {
    chan_handle taken(std::move(other));
    std::swap(core_, taken.core_);
    return *this;
  }
  ~chan_handle() {
    if (core_ != nullptr) release_chan(core_);
  }

 private:
  chan_core* core_;
};

}  // namespace weft::detail
