// SPDX-License-Identifier: MIT
#pragma once
#include "policy/batch_lines.h"
#include "policy/batch_run.h"
#include "policy/record_queue.h"

// All that the batch policy keeps for one P (batch.h says what it is for). Everything but steal_from() and the functions
// below "any thread" is the owner's.
namespace weft::policy {

class BatchQueues {
 public:
  // --- what becomes runnable ---
  // It waits behind its own group. Returns whether thieves can take something now.
  sched::Place join(sched::Processor& p, sched::Runnable runnable) noexcept;
  // It is a batch of its own, at the end, and visible.
  sched::Place push_alone(sched::Processor& p, sched::Runnable runnable) noexcept;
  // It has not been woken by a goroutine here. next() puts it at the end, together with others that arrive meanwhile.
  // `wake`: another M may be woken for it.
  void arrive(sched::Runnable runnable, bool wake) noexcept {
    arrivals_.push(runnable);
    wakes_for_arrivals_ |= wake;
    publish();
  }
  // They become batches at the end at once. Returns kOffered if any of them is visible.
  sched::Place arrive_all(sched::Processor& p, const sched::Runnable* several, std::size_t count) noexcept;

  // --- what runs next ---
  // Before next() or whatever else is picked.
  void count_dispatches(const sched::Processor& p) noexcept;
  sched::Pick next(sched::Processor& p, bool& from_slot) noexcept;
  // The policy has seen a wake-up. The mechanism puts others into the slot, and runs them, without asking.
  void saw_wake() noexcept { ++seen_wakes_; }
  // How many of those there were since the last call.
  std::uint32_t take_unseen_wakes() noexcept { return std::exchange(unseen_wakes_, 0); }

  // --- stealing: the owner of thief, which is this one's P ---
  sched::Runnable steal_from(sched::Processor& thief, BatchQueues& victim) noexcept;
  // The victim hides work and has not dispatched since its tick was seen_tick. True: for so long that it should give way.
  bool is_stuck(const sched::Processor& victim, std::uint32_t seen_tick) noexcept;

  // --- any thread ---
  bool offers() const noexcept { return lines_.offered() != 0 || !records_.empty(); }
  sched::Load load() const noexcept {
    return {.offered = lines_.offered() + records_.size(), .hidden = hidden_.load_relaxed()};
  }

  // --- while the P stands still, or the owner ---
  void visit(sched::Visitor visitor) const noexcept;
  void drain(sched::RunnableList& out) noexcept;

 private:
  bool nothing_waits() const noexcept {
    return active_.empty() && arrivals_.empty() && lines_.nothing_waits() && records_.empty();
  }
  void publish() noexcept {
    hidden_.store_relaxed(static_cast<std::uint32_t>(active_.size() + arrivals_.size()) + lines_.invisible());
  }
  void begin_run(const sched::Processor& p) noexcept;
  void grant(sched::Processor& p, std::uint32_t runs) noexcept;
  void grant_usual(sched::Processor& p) noexcept;
  std::uint32_t end_run(sched::Processor& p, BatchRun::End end) noexcept;
  std::uint32_t lay_aside(sched::Processor& p) noexcept;
  std::uint32_t queue_batch(sched::Processor& p, sched::RunnableList& list) noexcept;
  std::uint32_t flush_arrivals(sched::Processor& p) noexcept;
  bool is_worth_offering(const sched::Processor& p) const noexcept;
  std::uint32_t offer_hidden(sched::Processor& p) noexcept;
  sched::Runnable pick_in_order(sched::Processor& p) noexcept;
  sched::Runnable pop_active() noexcept;

  sched::RunnableList active_, arrivals_;
  bool wakes_for_arrivals_ = false;
  BatchRun run_;
  bool overtime_ = false;  // the run is over by time, but what is in the slot runs before the others
  std::uint32_t granted_ = 0, seen_wakes_ = 0, unseen_wakes_ = 0;
  // The P that this one, as a thief, saw standing still with hidden work, and since when.
  struct Stuck {
    const sched::Processor* p = nullptr;
    std::uint32_t tick = 0;
    std::uint64_t since = 0;  // ticks
  } stuck_;
  base::Atom<std::uint32_t> hidden_{0};  // for others
  BatchLines lines_;
  RecordQueue records_;
};

}  // namespace weft::policy
