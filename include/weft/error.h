// SPDX-License-Identifier: MIT
#pragma once
#include <stdexcept>

#include "weft/detail/errno.h"

namespace weft {

// Thrown in the caller for misuse on which Go panics. Nothing is corrupted by it.
class logic_error : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// There is no result, because the goroutine left by this_goroutine::exit(). Thrown by task::join(), for example.
class goroutine_exited : public std::runtime_error {
 public:
  goroutine_exited() : std::runtime_error("weft: the goroutine left by this_goroutine::exit(); it has no result") {}
};

}  // namespace weft
