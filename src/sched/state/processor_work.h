// SPDX-License-Identifier: MIT
#pragma once
#include <iterator>

#include "sched/state/scheduler.h"

// All that waits on one P: its slot, its inbox, and what the policy keeps there.
namespace weft::sched {

// Anybody; may be old.
inline bool has_work(const Processor& p) noexcept {
  return p.slot.look() || policy().load(p).any() || !p.inbox.empty();
}
// Anybody; may be old. Is there work on p, or in the global queue, that another P could take?
inline bool offers_work(const Processor& p) noexcept {
  return policy().load(p).offered > 0 || !scheduler.inject.empty();
}
// Anybody; read again after a full fence where it decides. Is there work on any P but `except` that a thief could take?
inline bool processors_offer_work(const Processor* except) noexcept {
  if (policy().offers(except)) return true;
  for (std::uint32_t i = 0; i < maxprocs(); ++i) {
    const Processor& p = *scheduler.processors[i];
    if (&p != except && WEFT_UNLIKELY(!p.inbox.empty())) return true;
  }
  return false;
}

// Anybody; read again after a full fence where it decides. Is there something to do for an M without work?
inline bool work_exists(const Processor* except) noexcept {
  return !scheduler.inject.empty() || !scheduler.idle_priority.empty() || processors_offer_work(except);
}

// Owner of p. All of the list become runnable on it, a hundred at a time.
inline void ready_all(Processor& p, RunnableList& list, Why why) noexcept {
  Runnable some[128];
  while (!list.empty()) {
    std::size_t count = 0;
    while (count < std::size(some) && !list.empty()) some[count++] = list.pop();
    policy().ready_all(p, some, count, why);
  }
}

// Owner of p, or a thief.
inline RunnableList take_inbox(Processor& p) noexcept {
  RunnableList list;
  p.inbox.take([&](Runnable runnable) { list.push(runnable); });
  return list;
}
// Owner of p. True: there was something in its inbox; it waits where the policy has put it.
inline bool take_inbox_in(Processor& p) noexcept {
  if (WEFT_LIKELY(p.inbox.empty())) return false;
  RunnableList given = take_inbox(p);
  ready_all(p, given, Why::kReturned);
  return true;
}

// Owner of p. Everything that waits on it, in an order that is fair.
inline void take_everything(Processor& p, RunnableList& out) noexcept {
  if (const Runnable slotted = p.slot.take()) out.push(slotted);
  RunnableList given = take_inbox(p);
  out.append(given);
  policy().drain(p, out);
}

// Owner of p. Everything that waits on it goes to the global queue, because no M will look at p for a while.
inline void give_everything_back(Processor& p) noexcept {
  RunnableList work;
  take_everything(p, work);
  if (!work.empty()) scheduler.inject.push(work);
}

}  // namespace weft::sched
