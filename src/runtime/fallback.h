// SPDX-License-Identifier: MIT
#pragma once

// The change to the global policy because very many goroutines are locked to their threads, and the change back
// (WEFT_LOCKED_FALLBACK; sched/rule/locked_fallback.h says when). Called by sysmon.
namespace weft::runtime {

bool fallback_is_in_force();
// Stops the world. Nothing happens if the global policy was chosen anyway.
void begin_fallback();
// Stops the world. The policy from before is in force again.
void end_fallback();
// With the world stopped: the user chooses a policy, and a fallback is over.
void forget_fallback();

}  // namespace weft::runtime
