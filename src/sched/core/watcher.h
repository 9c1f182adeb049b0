// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// Watchers: the Ms that wake up for timers and descriptors. Some M sleeps until the earliest timer of all Ps is due
// (search.cc): the passive spinner, which has a P, or the poller, which has none.
namespace weft::sched {

// A timer was added to a heap, whose lock the caller has just given back: wakes a watcher that would sleep past it.
//   Far timers  Most timers are time limits that are stopped long before they are due. A thread with a P wakes no
//               watcher for a timer that is far (kFarNs), and spares itself a full fence. Sysmon looks every 10 ms
//               while any P is busy, and reminds the watchers well before. Before sysmon sleeps any longer, it sets
//               far_from_ns to kNever: no timer counts as far any more. A thread that takes a P after that sees this,
//               or rings sysmon (sysmon.asleep). If a thread had a P before sysmon saw every P idle, its timers are
//               seen by the reminder after that look. If the system keeps sysmon from running for more than 190 ms,
//               such a timer is late by the excess.
void timer_added(std::int64_t when_ns) noexcept;
inline constexpr std::int64_t kFarNs = 200'000'000;
// Wakes a watcher that would sleep past the next timer, if that is due by until_ns.
void remind_watchers(std::int64_t until_ns) noexcept;
// A descriptor was registered: makes sure that an M watches.
void network_registered() noexcept;

}  // namespace weft::sched
