// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/atomic.h"
#include "trace/tables.h"

// Samples of where threads compute, a hundred times a second or so. The collector looks which threads have used CPU
// time since its last look, and asks each of these by signal where it is.
//   Handler   may interrupt anything, also the recorder. It takes a place in a ring and fills it, nothing else.
//   Full      A sample that finds no place is left out.
namespace weft::trace {

class CpuSamples {
 public:
  static constexpr std::size_t kFrames = 32;

  // In the handler. `pcs` are for lookup (os/backtrace.h). format::kNone and 0: no P, no goroutine.
  void add(std::uint64_t time, std::uint64_t thread, std::uint64_t p, std::uint64_t g, void* const* pcs,
           std::size_t count) noexcept;

  // --- collector ---
  bool reserve() noexcept;  // once; false: no memory
  // Appends the batch of the samples taken so far; their stacks go into the tables.
  void write(std::uint64_t generation, std::uint64_t time, Tables& tables, std::string& out);
  void forget() noexcept;

 private:
  static constexpr std::uint64_t kCapacity = 2048;
  struct Sample {
    base::Atom<std::uint64_t> turn{0};  // n + 1: filled in the ring's n-th round
    std::uint64_t time, thread, p, g, count;
    void* pcs[kFrames];
  };
  // The sample of that number; null if it is not filled.
  Sample* filled(std::uint64_t number) noexcept;

  base::Atom<Sample*> ring_{nullptr};
  base::Atom<std::uint64_t> taken_{0};    // by handlers
  base::Atom<std::uint64_t> written_{0};  // by the collector
};

}  // namespace weft::trace
