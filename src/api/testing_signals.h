// SPDX-License-Identifier: MIT
#pragma once

// Abort and crashes of controlled goroutines. The handler makes the interrupted goroutine go on in a function that
// says what has happened and parks for ever. So the schedule has failed, and the test goes on.
//   Gap      A stack that has overflowed has no room for that, and code outside goroutines is not ours: there the
//            dying words are printed, and the signal takes its usual way.
namespace weft::api {

void catch_fatal_signals() noexcept;
void release_fatal_signals() noexcept;

}  // namespace weft::api
