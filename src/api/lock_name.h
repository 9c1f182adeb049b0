// SPDX-License-Identifier: MIT
#pragma once
#include <cstdio>

namespace weft::api {

// What a fatal error calls a lock: its name or, without one, its address.
class LockName {
 public:
  LockName(const char* name, const void* lock) noexcept {
    if (name != nullptr)
      std::snprintf(text_, sizeof text_, ", \"%s\"", name);
    else
      std::snprintf(text_, sizeof text_, " (at %p)", lock);
  }
  const char* text() const noexcept { return text_; }

 private:
  char text_[256];
};

}  // namespace weft::api
