// SPDX-License-Identifier: MIT
#pragma once

// Synchronisation for goroutines and plain threads alike.
#include "weft/barrier.h"
#include "weft/broadcast.h"
#include "weft/condition_variable.h"
#include "weft/event.h"
#include "weft/future.h"
#include "weft/group.h"
#include "weft/latch.h"
#include "weft/mutex.h"
#include "weft/once.h"
#include "weft/once_func.h"
#include "weft/packaged_task.h"
#include "weft/pool.h"
#include "weft/semaphore.h"
#include "weft/shared_future.h"
#include "weft/shared_mutex.h"
#include "weft/single_flight.h"
#include "weft/wait_group.h"
#include "weft/watch.h"
#include "weft/weighted_semaphore.h"
