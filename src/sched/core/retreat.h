// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "sched/retreat_trial.h"

// A P that shares too closely with others gives its work to one of them (sharing_meter.h).
namespace weft::sched {

struct Processor;

// This thread has used what another M used last. Cheap; the P is asked to retreat if that happens too often.
void note_meeting() noexcept;
// It has waited for another thread's lock since then (ticks).
void note_sharing_loss(std::uint64_t since) noexcept;

// Owner of p, on g0: what attention to kAttentionRetreat does. Everything p could run goes to another busy P, if there is one.
void retreat(Processor& p) noexcept;
// Sysmon: judges the retreat that is on trial, if one is. Returns when to look again.
std::int64_t look_at_retreat(RetreatTrial& trial, std::int64_t now_ns) noexcept;
// Owner of p: it leaves the others' work alone for now. Never while no other P is busy.
bool keeps_apart(const Processor& p) noexcept;
// Anybody: p has work that runs for so long that sharing need not cost much.
bool outweighs_sharing(const Processor& p) noexcept;

}  // namespace weft::sched
