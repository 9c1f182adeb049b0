// SPDX-License-Identifier: MIT
#pragma once

// A full memory barrier in every thread of the process (membarrier), paid for by the thread that asks for it. For
// protocols in which each of two sides writes, then reads what the other side writes. If one side is a hot path and the
// other is rare, the hot side needs only a compiler barrier (base::compiler_fence()).
namespace weft::os {

// Called before the first barrier, and again in a child after fork; cheap when nothing is to be done. False: the kernel
// or a seccomp filter refuses, and the hot side needs a fence of its own.
bool enable_process_barrier() noexcept;

// Costs some microseconds, because the other CPUs that run this process are interrupted. False: a seccomp filter was
// installed since.
bool process_barrier() noexcept;

// Fallback when seccomp forbids membarrier after fast paths already rely on it: sleeps for 1 ms. A store becomes
// visible in less than a microsecond, unless its thread loses its CPU, and then the switch is a fence.
void wait_instead_of_barrier() noexcept;

}  // namespace weft::os
