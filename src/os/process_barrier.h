// SPDX-License-Identifier: MIT
#pragma once

// A full memory barrier in every thread of the process, paid for by the one who asks. Where one side of "each writes, then reads what the
// other writes" is a hot path and the other one rare, the hot side needs nothing but a compiler's barrier (base::compiler_fence()).
namespace weft::os {

// Before the first barrier, and again in a child after fork; cheap when nothing is to be done. False: this kernel, or a filter of system
// calls, gives none, and the hot side needs a fence of its own.
bool enable_process_barrier() noexcept;

// Costs some microseconds: the other CPUs that run this process are interrupted. False: a filter came in between.
bool process_barrier() noexcept;

// Instead of it, for who has hot sides without fences about when that filter comes: their stores are on their way for less than a microsecond,
// unless the thread loses its CPU, and a switch is a fence.
void wait_instead_of_barrier() noexcept;

}  // namespace weft::os
