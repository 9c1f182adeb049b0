// SPDX-License-Identifier: MIT
#pragma once

// In the models nobody blocks a thread in user code.
namespace weft::sched {

inline bool has_lease() noexcept { return false; }
class LeaseKept {};

}  // namespace weft::sched
