// SPDX-License-Identifier: MIT
#pragma once
#include "sched/core/dispatch.h"

namespace weft::api {
inline void ensure_started() {}
}  // namespace weft::api
