// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Who wakes up for timers and descriptors: some M sleeps until the earliest timer of all Ps is due (search.cc), the passive
// spinner or, if every P is idle, the poller.
namespace weft::sched {

// A timer was added to a heap, whose lock the caller has just given back: wakes a watcher that would sleep past it.
//   Far timers  most are time limits that never come, stopped long before. Who has a P tells nobody of one that is far (kFarNs), and spares
//               itself a full fence: sysmon, which looks every 10 ms while any P is busy, reminds the watchers well before.
//               Before sysmon sleeps any longer it takes far_from_ns back. Whoever takes a P after that sees so, or rings it (sysmon.asleep);
//               whoever had one before sysmon saw every P idle has its timers seen by the reminder after that look.
//               If the system keeps sysmon from running for 190 ms, such a timer is late by as much as that was longer.
void timer_added(std::int64_t when_ns) noexcept;
inline constexpr std::int64_t kFarNs = 200'000'000;
// Wakes a watcher that would sleep past a timer that is due by then.
void remind_watchers(std::int64_t until_ns) noexcept;
// A descriptor was registered: makes sure that an M watches.
void network_registered() noexcept;

}  // namespace weft::sched
