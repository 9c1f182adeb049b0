// SPDX-License-Identifier: MIT
#pragma once
#include <system_error>
#include <utility>

#include "weft/detail/clock.h"

namespace weft::detail {

// A descriptor in the netpoller. Move-only; closed when dropped. What is empty behaves as what is closed.
class io_handle {
 public:
  io_handle() noexcept = default;
  explicit io_handle(void* descriptor) noexcept : descriptor_(descriptor) {}
  io_handle(io_handle&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  io_handle& operator=(io_handle&& other) noexcept {
    if (this != &other) {
      reset();
      descriptor_ = std::exchange(other.descriptor_, nullptr);
    }
    return *this;
  }
  ~io_handle() { reset(); }

  void reset() noexcept;
  void close() noexcept;
  int release() noexcept;  // -1: closed, or empty
  int number() const noexcept;
  bool is_open() const noexcept;
  void set_deadline(bool reading, bool writing, time_point when) noexcept;
  void* get() const noexcept { return descriptor_; }

 private:
  void* descriptor_ = nullptr;
};

// std::system_error: `what` says what was attempted.
[[noreturn]] void throw_io_error(std::error_code error, const char* what);
inline void throw_if(std::error_code error, const char* what) {
  if (error) [[unlikely]]
    throw_io_error(error, what);
}

}  // namespace weft::detail
