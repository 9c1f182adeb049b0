// SPDX-License-Identifier: MIT
#include "policy/batch_queues.h"

#include "os/clock.h"

namespace weft::policy {

using sched::Counter;
using sched::Pick;
using sched::Place;
using sched::Processor;
using sched::Runnable;
using sched::RunnableList;
using sched::scheduler;

namespace {

constexpr std::size_t kJoinMax = 64;      // more do not join a batch: it goes behind the others
constexpr std::size_t kArrivalsMax = 16;  // goroutines of one batch of strangers
constexpr std::uint32_t kMostRuns = 16;   // out of the slot, before the policy is asked
constexpr std::uint32_t kLongNs = 1'500;  // goroutines that run longer on average run for long
// Hidden work is offered if it takes longer than this: when a spinner is awake, when one has to be woken, and when
// recent steals proved worthless.
constexpr std::uint64_t kWorthAwakeNs = 1'000, kWorthWakingNs = 5'000, kWorthTryingNs = 10'000;
constexpr std::uint64_t kStuckUs = 50;

bool runs_long(const Processor& p) noexcept { return p.average_ns.load_relaxed() >= kLongNs; }
bool has_kroc_rules() noexcept { return sched::settings.kroc_batches; }

}  // namespace

// --- what becomes runnable ---

Place BatchQueues::join(Processor& p, Runnable runnable) noexcept {
  if (runnable.is_record()) {
    records_.push(p, runnable);
    return Place::kOffered;
  }
  RunnableList alone;
  alone.push(runnable);
  if (!has_kroc_rules() && runs_long(p) && lines_.push(p, lines_.front, alone)) {
    publish();
    return Place::kOffered;
  }
  std::uint32_t offered = 0;
  if (WEFT_UNLIKELY(active_.size() >= kJoinMax)) offered = queue_batch(p, active_);
  active_.append(alone);
  if (is_worth_offering(p)) offered += offer_hidden(p);
  publish();
  return offered > 0 ? Place::kOffered : Place::kHidden;
}

Place BatchQueues::push_alone(Processor& p, Runnable runnable) noexcept {
  if (runnable.is_record()) {
    records_.push(p, runnable);
    return Place::kOffered;
  }
  return arrive_all(p, &runnable, 1);
}

Place BatchQueues::arrive_all(Processor& p, const Runnable* several, std::size_t count) noexcept {
  std::uint32_t offered = flush_arrivals(p);
  RunnableList list;
  for (std::size_t i = 0; i < count; ++i) {
    if (several[i].is_record()) {
      records_.push(p, several[i]);
      ++offered;
    } else {
      list.push(several[i]);
      if (list.size() == kArrivalsMax) offered += queue_batch(p, list);
    }
  }
  offered += queue_batch(p, list);
  publish();
  return offered > 0 ? Place::kOffered : Place::kHidden;
}

std::uint32_t BatchQueues::flush_arrivals(Processor& p) noexcept {
  std::uint32_t offered = 0;
  while (!arrivals_.empty()) {
    RunnableList some;
    while (some.size() < kArrivalsMax && !arrivals_.empty()) {
      const Runnable one = arrivals_.pop();
      if (one.is_record()) {
        records_.push(p, one);
        ++offered;
      } else {
        some.push(one);
      }
    }
    offered += queue_batch(p, some);
  }
  return offered;
}

// Queues the list as the last batch. Without memory for that it joins the active one. Returns how many goroutines were
// offered, and leaves the list empty.
std::uint32_t BatchQueues::queue_batch(Processor& p, RunnableList& list) noexcept {
  if (list.empty()) return 0;
  const auto size = static_cast<std::uint32_t>(list.size());
  if (has_kroc_rules()) {
    const std::uint32_t before = lines_.offered();
    if (lines_.push_newest(p, list)) return lines_.offered() > before ? size : 0;
  } else if (lines_.push(p, lines_.waiting, list)) {
    return size;
  }
  if (&list != &active_) active_.append(list);
  return 0;
}

// --- work for other Ps ---

bool BatchQueues::is_worth_offering(const Processor& p) const noexcept {
  const sched::IdleView view = scheduler.idle.look();
  if (WEFT_LIKELY(view.quiet()) || has_kroc_rules() || lines_.offered() != 0) return false;
  const std::uint64_t worth_ns = (active_.size() + lines_.invisible()) * std::uint64_t{p.average_ns.load_relaxed()};
  if (view.suppressed()) return worth_ns >= kWorthTryingNs;
  return worth_ns >= (view.spinning() > 0 && !view.passive() ? kWorthAwakeNs : kWorthWakingNs);
}

// Offers the older half of the active batch, which then goes on in front of what waits, or a batch that is no longer
// visible. Returns the number of goroutines.
std::uint32_t BatchQueues::offer_hidden(Processor& p) noexcept {
  const std::size_t members = active_.size() + (p.slot.look() ? 1 : 0);
  if (members < 2) return lines_.show_one_again(p);
  RunnableList older;
  for (std::size_t left = members / 2; left > 0; --left) older.push(active_.pop());
  const auto size = static_cast<std::uint32_t>(older.size());
  if (lines_.push(p, lines_.front, older)) return size;
  older.append(active_);
  active_ = older;
  return 0;
}

// --- runs ---

void BatchQueues::begin_run(const Processor& p) noexcept {
  overtime_ = false;
  const std::uint32_t now_ms = scheduler.coarse_ms.load_relaxed();
  if (has_kroc_rules()) {
    run_.begin_kroc(static_cast<std::uint32_t>(active_.size()), now_ms);
  } else {
    run_.begin(p.average_ns.load_relaxed(), now_ms);
  }
}

// With `runs` 0 the mechanism still fills the slot. KRoC's rules leave it empty.
void BatchQueues::grant(Processor& p, std::uint32_t runs) noexcept {
  granted_ = runs;
  p.slot_runs = has_kroc_rules() ? 0 : sched::kSlotFillsOnly + runs;
}
void BatchQueues::grant_usual(Processor& p) noexcept {
  if (overtime_) return grant(p, 0);
  // A random number, so that a group whose members take turns does not show the policy the same pair each time.
  const std::uint32_t most = runs_long(p) ? 1 : kMostRuns - (static_cast<std::uint32_t>(p.random.next()) & 7);
  grant(p, std::min(most, run_.left()));
}

void BatchQueues::count_dispatches(const Processor& p) noexcept {
  const std::uint32_t left = p.slot_runs == 0 ? 0 : p.slot_runs - sched::kSlotFillsOnly;
  const std::uint32_t used = granted_ - std::min(left, granted_);
  unseen_wakes_ += used - std::min(used, seen_wakes_);
  seen_wakes_ = 0;
  granted_ = left;
  run_.count(used + 1);
}

// What is left of the batch goes behind the others. Returns how many goroutines were offered.
std::uint32_t BatchQueues::lay_aside(Processor& p) noexcept {
  lines_.waiting.append(lines_.front);
  RunnableList first;
  if (const Runnable slotted = p.slot.take()) first.push(slotted);
  if (run_.was_emptied()) {
    first.append(active_);
    return queue_batch(p, first);
  }
  if (first.empty() && !active_.empty()) first.push(active_.pop());
  if (!active_.empty()) p.counters.bump(Counter::kBatchSplits);
  const std::uint32_t offered = queue_batch(p, first);
  return offered + queue_batch(p, active_);
}

// The run is over, and the next batch becomes the active one. Returns how many goroutines were offered.
std::uint32_t BatchQueues::end_run(Processor& p, BatchRun::End end) noexcept {
  if (end == BatchRun::End::kByTime && !overtime_ && p.slot.look()) {
    overtime_ = true;  // it was woken while another computed: a ticker, perhaps
    return 0;
  }
  std::uint32_t offered = 0;
  const bool goes_on = run_.was_emptied() && lines_.nothing_waits() && records_.empty();
  if (!goes_on) {
    offered = lay_aside(p);
    if (active_.empty()) static_cast<void>(lines_.pop(lines_.waiting, active_) || lines_.pop_newest(active_));
  }
  begin_run(p);
  return offered;
}

Runnable BatchQueues::pop_active() noexcept {
  const Runnable next = active_.pop();
  if (next && active_.empty() && lines_.front.empty()) run_.found_empty();
  return next;
}

// The next one without the slot, in order: records at their turn, the active batch, what goes on with its run, the next
// batch, records.
Runnable BatchQueues::pick_in_order(Processor& p) noexcept {
  if (const Runnable record = records_.pop_first(p)) return record;
  if (const Runnable next = pop_active()) return next;
  if (lines_.pop(lines_.front, active_)) return pop_active();
  if (lines_.pop(lines_.waiting, active_) || lines_.pop_newest(active_)) {
    begin_run(p);
    grant(p, 1);  // an early look at each batch
    return pop_active();
  }
  return records_.pop();
}

Pick BatchQueues::next(Processor& p, bool& from_slot) noexcept {
  if (WEFT_LIKELY(p.slot.look() && nothing_waits())) {  // the usual case of goroutines that talk to each other
    begin_run(p);
    run_.found_empty();
    grant_usual(p);
    if (const Runnable slotted = p.slot.take()) {
      from_slot = true;
      return {.what = slotted};
    }
  }
  std::uint32_t offered = 0;
  if (!arrivals_.empty()) {
    const std::uint32_t flushed = flush_arrivals(p);
    if (wakes_for_arrivals_) offered += flushed;
    wakes_for_arrivals_ = false;
  }
  const BatchRun::End end = run_.end(scheduler.coarse_ms.load_relaxed());
  if (end != BatchRun::End::kNotYet) offered += end_run(p, end);
  if (is_worth_offering(p)) offered += offer_hidden(p);
  grant_usual(p);
  Runnable next;
  if (p.slot.look()) {
    if (active_.empty() && lines_.front.empty()) run_.found_empty();
    next = p.slot.take();
    from_slot = static_cast<bool>(next);
  }
  if (!next) next = pick_in_order(p);
  publish();
  return {.what = next, .offered = offered};
}

// --- stealing ---

Runnable BatchQueues::steal_from(Processor& thief, BatchQueues& victim) noexcept {
  RunnableList batch;
  if (!victim.lines_.steal(batch)) return victim.records_.steal_half(thief, records_);
  thief.counters.bump(Counter::kBatchesStolen);
  thief.counters.bump(Counter::kGoroutinesStolen, batch.size());
  if (!active_.empty()) queue_batch(thief, active_);
  active_.append(batch);
  begin_run(thief);
  grant(thief, 1);
  const Runnable first = pop_active();
  publish();
  return first;
}

bool BatchQueues::is_stuck(const Processor& victim, std::uint32_t seen_tick) noexcept {
  const std::uint64_t now = os::ticks();
  if (stuck_.p != &victim || stuck_.tick != seen_tick) {
    stuck_ = {&victim, seen_tick, now};
    return false;
  }
  if (now - stuck_.since < os::us_to_ticks(kStuckUs)) return false;
  stuck_.since = now;
  return true;
}

// --- all of it ---

void BatchQueues::visit(sched::Visitor visitor) const noexcept {
  active_.for_each(visitor);
  arrivals_.for_each(visitor);
  lines_.visit(visitor);
  records_.visit(visitor);
}

void BatchQueues::drain(RunnableList& out) noexcept {
  out.append(active_);
  RunnableList batch;
  while (lines_.pop(lines_.front, batch) || lines_.pop(lines_.waiting, batch) || lines_.pop_newest(batch))
    out.append(batch);
  out.append(arrivals_);
  while (const Runnable record = records_.pop_oldest()) out.push(record);
  publish();
}

}  // namespace weft::policy
