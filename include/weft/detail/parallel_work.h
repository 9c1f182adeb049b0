// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

// The engine of parallel_for and parallel_reduce (src/api/parallel.cc).
namespace weft::detail {

struct parallel_work {
  std::size_t begin, end;
  std::size_t grain;  // pieces are multiples of it, counted from `begin`; the last piece may be shorter
  unsigned width;     // at most this many goroutines
  // Runs [first, last) as the worker of that number, below width. A worker's calls follow each other; `fresh`: this one
  // does not begin where the worker's last one ended.
  void (*run)(void* self, unsigned worker, bool fresh, std::size_t first, std::size_t last);
  void* self;
};

// How many goroutines may work for one call: the number of Ps.
unsigned parallel_width() noexcept;
// Runs each index of [begin, end) once, in pieces. Returns when no piece is running any more. Rethrows the first
// exception; after one, no further piece begins.
void run_parallel(const parallel_work& work);

}  // namespace weft::detail
