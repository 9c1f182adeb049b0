// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace weft::detail {

// What weft::preemptible leaves for the handler of the preemption signal: the code (of one module) in which the
// goroutine may be stopped.
struct preemptible_scope {
  const preemptible_scope* outer = nullptr;
  std::uintptr_t code_begin = 0, code_end = 0;  // equal: nowhere
};

}  // namespace weft::detail
