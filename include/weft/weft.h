// SPDX-License-Identifier: MIT
#pragma once

// Everything but debug, net, io, trace and testing.
#include "weft/chan.h"
#include "weft/context.h"
#include "weft/error.h"
#include "weft/go.h"
#include "weft/group.h"
#include "weft/labels.h"
#include "weft/parallel.h"
#include "weft/runtime.h"
#include "weft/select.h"
#include "weft/sync.h"
#include "weft/task_force.h"
#include "weft/time.h"
#include "weft/version.h"
#include "weft/wait_any.h"
