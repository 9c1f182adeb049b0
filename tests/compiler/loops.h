// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Loops of every kind, compiled with the preemption checks of tools/compiler. Each returns a hash of all it computed.
struct LoopCase {
  const char* name;
  std::uint64_t (*run)();
};
extern const LoopCase kLoopCases[];
extern const int kLoopCaseCount;

// Never returns: left by a longjmp out of the check.
void spin_forever();
