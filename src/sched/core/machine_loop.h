// SPDX-License-Identifier: MIT
#pragma once

// The life of an M's thread: it takes a P, finds goroutines and runs them, until it is to end.
namespace weft::sched {

// `argument`: the Machine, which has been given a P.
void machine_main(void* argument);

}  // namespace weft::sched
