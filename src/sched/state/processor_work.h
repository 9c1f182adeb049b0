// SPDX-License-Identifier: MIT
#pragma once
#include <iterator>

#include "sched/state/scheduler.h"

// All work that waits on one P: in its slot, in its inbox, and in the policy's queues.
namespace weft::sched {

// Any thread; the answer may be stale.
inline bool has_work(const Processor& p) noexcept {
  return p.slot.look() || policy().load(p).any() || !p.inbox.empty();
}
// Any thread; the answer may be stale. Is there work on p, or in the global queue, that another P could take?
inline bool offers_work(const Processor& p) noexcept {
  return policy().load(p).offered > 0 || !scheduler.inject.empty();
}
// Is there work on any P but `except` that a thief could take? Any thread; a caller that decides by the answer asks
// again after a full fence.
inline bool processors_offer_work(const Processor* except) noexcept {
  if (policy().offers(except)) return true;
  for (std::uint32_t i = 0; i < maxprocs(); ++i) {
    const Processor& p = *scheduler.processors[i];
    if (&p != except && WEFT_UNLIKELY(!p.inbox.empty())) return true;
  }
  return false;
}

// Is there something to do for an M without work? Any thread; a caller that decides by the answer asks again after a
// full fence.
inline bool work_exists(const Processor* except) noexcept {
  return !scheduler.inject.empty() || !scheduler.idle_priority.empty() || processors_offer_work(except);
}

// Owner of p. Everything in the list becomes runnable on p, 128 at a time.
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
// Owner of p. True: its inbox held something, which waits where the policy has put it now.
inline bool take_inbox_in(Processor& p) noexcept {
  if (WEFT_LIKELY(p.inbox.empty())) return false;
  RunnableList given = take_inbox(p);
  ready_all(p, given, Why::kReturned);
  return true;
}

// Owner of p. Appends everything that waits on p, in a fair order: the slot, the inbox, then the policy's queues.
inline void take_everything(Processor& p, RunnableList& out) noexcept {
  if (const Runnable slotted = p.slot.take()) out.push(slotted);
  RunnableList given = take_inbox(p);
  out.append(given);
  policy().drain(p, out);
}

// Owner of p. Moves everything that waits on p to the global queue, because no M will look at p for a while.
inline void give_everything_back(Processor& p) noexcept {
  RunnableList work;
  take_everything(p, work);
  if (!work.empty()) scheduler.inject.push(work);
}

}  // namespace weft::sched
