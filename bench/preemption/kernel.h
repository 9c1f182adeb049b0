// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Programs' inner work, for the price of preemption checks: each kernel does a few milliseconds of what its name says and
// returns a checksum of all it computed. `bench/run preemption` compiles them plain and with each kind of check.
struct Kernel {
  const char* name;
  std::uint64_t (*run)();
};

// Registers itself while constructing; kernels() is in order of name.
struct KernelList {
  KernelList(const char* name, std::uint64_t (*run)());
};
#define WEFT_KERNEL(name)                           \
  static std::uint64_t name();                      \
  static const KernelList name##_list(#name, name); \
  static std::uint64_t name()

// The same pseudo-random numbers everywhere.
struct Random {
  std::uint64_t state = 88172645463325252u;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
};

inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29);
}
std::uint64_t mix(std::uint64_t hash, double value);
