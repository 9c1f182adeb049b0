// SPDX-License-Identifier: MIT
#pragma once
#include <stdexcept>

#include "weft/detail/errno.h"

namespace weft {

// Misuse that Go panics on, thrown in the caller; nothing is corrupted by it.
class logic_error : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// task::join() of a goroutine that left by this_goroutine::exit(): there is no value.
class goroutine_exited : public std::runtime_error {
 public:
  goroutine_exited() : std::runtime_error("weft: the goroutine left by this_goroutine::exit(); it has no result") {}
};

}  // namespace weft
