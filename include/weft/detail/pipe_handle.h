// SPDX-License-Identifier: MIT
#pragma once
#include <utility>

#include "weft/detail/clock.h"

namespace weft::detail {

// One end of a net::pipe(). Move-only; closed when dropped. In most connections it is empty, and does nothing.
class pipe_handle {
 public:
  pipe_handle() noexcept = default;
  explicit pipe_handle(void* end) noexcept : end_(end) {}
  pipe_handle(pipe_handle&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
  pipe_handle& operator=(pipe_handle&& other) noexcept {
    if (this != &other) {
      if (end_ != nullptr) drop(end_);
      end_ = std::exchange(other.end_, nullptr);
    }
    return *this;
  }
  ~pipe_handle() {
    if (end_ != nullptr) drop(end_);
  }

  void close() noexcept {
    if (end_ != nullptr) close_end();
  }
  void set_deadline(bool reading, bool writing, time_point when) noexcept {
    if (end_ != nullptr) set_end_deadline(reading, writing, when);
  }
  bool is_open() const noexcept { return end_ != nullptr && is_end_open(); }
  void* get() const noexcept { return end_; }

 private:
  static void drop(void* end) noexcept;
  void close_end() noexcept;
  void set_end_deadline(bool reading, bool writing, time_point when) noexcept;
  bool is_end_open() const noexcept;
  void* end_ = nullptr;
};

}  // namespace weft::detail
