// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace weft::sched {

// Block the calling goroutine or thread until the time has come. May switch. A goroutine whose time has come already
// yields.
void sleep_until(std::int64_t deadline_ns) noexcept;
void sleep_for(std::int64_t ns) noexcept;

}  // namespace weft::sched
