// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "os/ranked_mutex.h"
#include "sched/model/goroutine.h"
#include "sched/state/label_set.h"

// The labels of a goroutine, as other threads see them.
namespace weft::sched {

// Held to change a goroutine's labels, or to look at those of another one. Several goroutines share a lock.
using LabelLock = os::RankedMutex<base::Rank::kLocals>;
LabelLock& label_lock_of(const Goroutine* g) noexcept;

// A reference that the caller releases; null: none.
const LabelSet* share_labels_of(const Goroutine* g) noexcept;
std::string labels_text_of(const Goroutine* g);

}  // namespace weft::sched
