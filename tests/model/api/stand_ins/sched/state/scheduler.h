// SPDX-License-Identifier: MIT
#pragma once
// Stands in for src/sched/state/scheduler.h: its few fields are said beside the goroutines.
#include "sched/core/dispatch.h"
