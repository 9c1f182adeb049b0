// SPDX-License-Identifier: MIT
#pragma once
#include <system_error>
#include <utility>

#include "weft/detail/clock.h"

namespace weft::detail {

// A descriptor in the netpoller. Move-only; closed when dropped. An empty handle behaves like a closed one.
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

// Throws std::system_error, or std::invalid_argument for a text that is no address. `what` names the operation.
[[noreturn]] void throw_io_error(std::error_code error, const char* what);
inline void throw_if(std::error_code error, const char* what) {
  if (error) [[unlikely]]
    throw_io_error(error, what);
}

// What the last reads of a TCP stream say about the next one (src/api/net_conn.cc).
struct read_hints {
  bool usable = false;   // no other code reads from this socket
  bool drained = false;  // nothing is left, or what is left will be reported: the next read waits first
  bool full = false;     // the last read filled its buffer: more may be left
  unsigned char vain = 0, brief = 0;
};

}  // namespace weft::detail
