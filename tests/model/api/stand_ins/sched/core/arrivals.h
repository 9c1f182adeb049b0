// SPDX-License-Identifier: MIT
#pragma once
// Stands in for src/sched/core/arrivals.h: what it declares is said beside the goroutines themselves.
#include "sched/core/dispatch.h"
