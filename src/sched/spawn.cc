// SPDX-License-Identifier: MIT
#include "sched/spawn.h"

#include "sched/dispatch.h"
#include "sched/locals.h"

namespace weft::detail {
void spawn_anchor() noexcept {}
}  // namespace weft::detail

namespace weft::sched {

Goroutine* take_goroutine_for(Processor& p, Runnable record) noexcept {
  [[maybe_unused]] const arch::FiberUnwatched handed_on;
  SpawnExtra& extra = extra_of(record);
  Goroutine* g = extra.g != nullptr ? extra.g : scheduler.stacks.take(p);
  if (g == nullptr) return nullptr;
  extra.g = nullptr;
  g->flags |= kGDetails;
  if (extra.idle) g->flags |= kGIdle;
  g->id = extra.id;
  g->mark.word.store_relaxed(extra.mark.word.load_relaxed());
  g->parent = extra.parent;
  g->locals = extra.inherited;
  extra.inherited = nullptr;
  if (!extra.name.empty()) g->name = new (std::nothrow) std::string(std::move(extra.name));
  arch::fiber_release(record.record());  // the goroutine frees the extra
  return g;
}

void clear_details(Goroutine* g) noexcept {
  delete g->locals;  // may run user destructors; they may even park
  g->locals = nullptr;
  delete g->name;
  g->name = nullptr;
  g->parent = 0;
  g->flags = static_cast<std::uint8_t>(g->flags & ~(kGDetails | kGIdle));
}

bool send_to_last_processor(Processor& here, Goroutine* g) noexcept {
  if (g->last_p == here.id || g->last_p >= maxprocs()) return false;
  Processor& target = *scheduler.processors[g->last_p];
  if (target.status() != PStatus::kRunning) return false;
  std::uintptr_t head = target.inbox.load_relaxed();  // the CAS validates it
  do g->link = head;
  while (!target.inbox.cas_acq_rel(head, Runnable(g).bits()));  // pairs: inbox
  wake_for_queued_work(&here);
  return true;
}

RunnableList take_inbox(Processor& p) noexcept {
  RunnableList list;
  std::uintptr_t bits = p.inbox.load_relaxed();  // a look before the exchange
  if (bits == 0) return list;
  bits = p.inbox.exchange_acq_rel(0);  // pairs: inbox
  // The chain is newest first: turn it round.
  std::uintptr_t reversed = 0;
  while (bits != 0) {
    const Runnable item = Runnable::from_bits(bits);
    bits = link_of(item);
    link_of(item) = reversed;
    reversed = item.bits();
  }
  while (reversed != 0) {
    const Runnable item = Runnable::from_bits(reversed);
    reversed = link_of(item);
    list.push(item);
  }
  return list;
}

}  // namespace weft::sched
