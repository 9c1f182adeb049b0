// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Was the code that a signal interrupted waiting in a system call?
//   How       After the handler the kernel either makes the call again (the program counter stands at its instruction),
//             or lets it fail (the counter stands behind it, and the result is -EINTR). A call that no signal
//             interrupts, such as a disk read, ends first: then the counter stands behind it with some other result.
//   Certain?  No: a thread may lose its CPU at just these instructions without having slept. Ask only where the
//             thread's CPU clock stood still.
namespace weft::arch {

enum class CallState : std::uint8_t {
  kOutside,
  kInside,  // slept in the call, which is made again or fails with EINTR
  kBehind,  // has just returned from a call
};

// Called in the handler; also after restart_interrupted_call().
CallState interrupted_call_state(const void* ucontext) noexcept;

}  // namespace weft::arch
