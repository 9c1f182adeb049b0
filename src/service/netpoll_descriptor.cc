// SPDX-License-Identifier: MIT
#include "service/netpoll_descriptor.h"

#include <unistd.h>
#include <cerrno>
#include <mutex>

#include "base/delay_site.h"
#include "os/clock.h"
#include "os/keep_errno.h"
#include "os/poll_set.h"
#include "service/netpoll.h"
#include "weft/detail/happens_before.h"

namespace weft::service {

using sched::scheduler;
using sched::WaitReason;

namespace {
constexpr WaitReason reason_of(Side side) { return side == Side::kRead ? WaitReason::kRead : WaitReason::kWrite; }
}  // namespace

// --- references ---

bool Descriptor::acquire() noexcept {
  std::uint32_t refs = refs_.load_relaxed();  // the CAS validates it
  do {
    if ((refs & kClosed) != 0) return false;
  } while (!refs_.cas_acquire(refs, refs + 1));  // pairs: descriptor.refs
  return true;
}

// The last reference to a closed descriptor closes the number.
void Descriptor::drop() noexcept {
  detail::order_release(&refs_);
  if (refs_.fetch_sub_acq_rel(1) != (kClosed | 1)) return;  // pairs: descriptor.refs
  detail::order_acquire(&refs_);  // TSan takes closing for a write of the number, and its uses for reads
  if (!keep_number_) {
    const os::KeepErrno keep;
    ::close(fd_);
  }
  sched::WaitList closers;
  closing_.lock.lock();
  gone_ = true;
  sched::take_all(closing_.list, closers);
  closing_.lock.unlock();
  sched::wake_all(closers);
}

// --- one side ---

int Descriptor::queue_for_side(Side side, const Interrupt* interrupt) noexcept {
  Direction& direction = at(side);
  for (;;) {
    sched::Wait wait(reason_of(side), this);
    direction.lock.lock();
    // Looked at under the lock: a thread that sets a reason afterwards finds us in the queue.
    if (const int error = reason_to_stop(side, interrupt)) {
      direction.lock.unlock();
      return error;
    }
    // Either the side is free and now ours, or its owner will see that we queue, because both are bits of one word.
    std::uint32_t refs = refs_.load_relaxed();  // the CAS validates it
    while (!refs_.cas_acq_rel(                  // pairs: descriptor.refs
        refs, refs | ((refs & taken_bit(side)) != 0 ? queued_bit(side) : taken_bit(side)))) {
    }
    if ((refs & taken_bit(side)) == 0) {
      direction.lock.unlock();
      return 0;
    }
    sched::Waiter waiter;
    wait.attach(waiter);
    wait.begin();
    direction.queue.push(waiter);
    direction.lock.unlock();
    wait.wait();
    if (waiter.success) return 0;  // the side was handed over
  }
}

void Descriptor::give_side(Side side) noexcept {
  Direction& direction = at(side);
  direction.lock.lock();
  sched::Waiter* next = direction.queue.pop();
  std::uint32_t free = direction.queue.empty() ? queued_bit(side) : 0;
  if (next != nullptr) {
    next->success = true;
  } else {
    free |= taken_bit(side);
  }
  refs_.fetch_and_acq_rel(~free);  // pairs: descriptor.refs
  direction.lock.unlock();
  if (next != nullptr) sched::wake(next);
}

int Descriptor::wait(Side side, const Interrupt* interrupt) noexcept {
  Direction& direction = at(side);
  if (const int error = reason_to_stop(side, interrupt)) return error;
  if (direction.gate.take_ready()) return 0;
  if (side == Side::kWrite) leave_level_for_writing();
  sched::Wait wait(reason_of(side), this);
  direction.who = wait.sleeper();
  scheduler.network.waiting.fetch_add_relaxed(1);
  wait.begin();
  WEFT_DELAY_SITE("descriptor.before_wait");
  bool parks = direction.gate.begin_wait();
  if (!parks) {
    wait.call_off();
  } else if (reason_to_stop(side, interrupt) != 0 && direction.gate.call_off()) {
    wait.call_off();
    parks = false;
  }
  WEFT_DELAY_SITE("descriptor.before_park");
  if (parks) wait.wait();
  scheduler.network.waiting.fetch_add_relaxed(-1);
  if (parks && direction.gate.take_ready()) return 0;
  // 0: the side was ready before the wait, or the interrupt was meant for another operation.
  return reason_to_stop(side, interrupt);
}

void Descriptor::interrupt(Side side) noexcept {
  Direction& direction = at(side);
  if (direction.gate.interrupt()) direction.who.wake();
  sched::WaitList queued;
  direction.lock.lock();
  if (!direction.queue.empty()) {
    sched::take_all(direction.queue, queued);
    refs_.fetch_and_acq_rel(~queued_bit(side));  // pairs: descriptor.refs
  }
  direction.lock.unlock();
  sched::wake_all(queued);
}

void Descriptor::notify(std::uint32_t sequence, std::uint32_t what, sched::RunnableList& ready) noexcept {
  // A late report may set this for the entry's next user, which only costs that one some speed.
  if (WEFT_UNLIKELY((what & (os::PollEvent::kClosing | os::PollEvent::kUrgent)) != 0)) {
    suspicious_.store_seq_cst(true);  // pairs: descriptor.suspicious
    if (level_.load_relaxed()) leave_level_in_poller(true);
  }
  if ((what & os::PollEvent::kReadable) != 0) {
    Direction& reading = at(Side::kRead);
    WEFT_DELAY_SITE("descriptor.before_notify");
    if (WEFT_LIKELY(reading.gate.notify(sequence))) {
      reading.who.wake(ready);
      unattended_.store_relaxed(0);
    } else if (WEFT_UNLIKELY(level_.load_relaxed())) {
      const std::uint8_t before = unattended_.load_relaxed();
      unattended_.store_relaxed(static_cast<std::uint8_t>(before + 1));
      if (before + 1 >= kMostUnattended) leave_level_in_poller(false);
    }
  }
  if ((what & os::PollEvent::kWritable) != 0) {
    Direction& writing = at(Side::kWrite);
    WEFT_DELAY_SITE("descriptor.before_notify");
    if (writing.gate.notify(sequence)) writing.who.wake(ready);
  }
}

// --- by level ---

void Descriptor::watch_by_level() noexcept {
  if (level_refused_.load_relaxed() || suspicious_.load_relaxed()) return;
  std::lock_guard guard(level_lock_);
  if (level_refused_.load_relaxed() || level_.load_relaxed()) return;
  unattended_.store_relaxed(0);
  WEFT_DELAY_SITE("descriptor.before_level");
  if (netpoll().watch(*this, true)) level_.store_seq_cst(true);  // pairs: descriptor.level
}

void Descriptor::watch_by_edge() noexcept {
  std::lock_guard guard(level_lock_);
  if (!level_.load_relaxed()) return;
  level_.store_seq_cst(false);  // pairs: descriptor.level
  if (++level_left_ == kMostChanges) level_refused_.store_relaxed(true);
  WEFT_DELAY_SITE("descriptor.before_edge");
  netpoll().watch(*this, false);
}

void Descriptor::leave_level_for_writing() noexcept {
  if (WEFT_LIKELY(level_refused_.load_relaxed())) return;
  {
    std::lock_guard guard(level_lock_);  // a reader that is about to set level_ has done so, or sees this
    level_refused_.store_relaxed(true);
  }
  watch_by_edge();
}

// Needs a reference, because otherwise the number may mean another file by now.
void Descriptor::leave_level_in_poller(bool for_good) noexcept {
  if (!acquire()) return;
  if (for_good) {
    std::lock_guard guard(level_lock_);
    level_refused_.store_relaxed(true);
  }
  watch_by_edge();
  drop();
}

// --- deadlines ---

void Descriptor::on_deadline(sched::Timer* timer) {
  Descriptor* descriptor = static_cast<Direction::Deadline*>(timer)->descriptor;
  const Side side = timer == &descriptor->directions_[0].deadline ? Side::kRead : Side::kWrite;
  descriptor->at(side).expired.store_seq_cst(true);  // pairs: gate.flags
  descriptor->interrupt(side);
}

void Descriptor::set_deadline(Side side, std::int64_t deadline_ns) noexcept {
  if (!acquire()) return;
  {
    Direction& direction = at(side);
    std::lock_guard guard(deadline_lock_);
    sched::stop_timer(&direction.deadline);
    if (is_closed())
      deadline_ns = os::kForever;  // shut() stops timers under this lock after it has set the bit: none may follow
    const bool past = deadline_ns != os::kForever && deadline_ns <= os::now_ns();
    direction.expired.store_seq_cst(past);  // pairs: gate.flags
    if (past) {
      interrupt(side);
    } else if (deadline_ns != os::kForever) {
      direction.deadline.when_ns = deadline_ns;
      direction.deadline.callback = &Descriptor::on_deadline;
      direction.deadline.descriptor = this;
      sched::start_timer(&direction.deadline);
    }
  }
  drop();
}

// --- closing ---

bool Descriptor::shut(bool keep_number) noexcept {
  if (!acquire()) return false;
  if (scheduler.forked.load_relaxed()) {  // a forked child: no goroutine waits here, and the poller is the parent's
    refs_.store_relaxed(kClosed);
    if (!keep_number) ::close(fd_);
    return true;
  }
  std::uint32_t refs = refs_.load_relaxed();  // the CAS validates it
  do {
    if ((refs & kClosed) != 0) {  // another closer was faster
      drop();
      return false;
    }
  } while (!refs_.cas_seq_cst(refs, refs | kClosed));  // pairs: gate.flags
  keep_number_ = keep_number;  // read by the last drop, which comes after our own
  interrupt(Side::kRead);
  interrupt(Side::kWrite);
  {
    std::lock_guard guard(deadline_lock_);
    for (Direction& direction : directions_) sched::stop_timer(&direction.deadline);
  }
  netpoll().unregister(*this);
  drop();
  const auto is_gone = [this] { return gone_; };
  sched::wait_unless(closing_, WaitReason::kIo, this, os::kForever, is_gone, [](bool) {});
  return true;
}

bool Descriptor::close() noexcept { return shut(false); }
int Descriptor::release() noexcept { return shut(true) ? fd_ : -1; }

// --- operations ---

// The descriptor is closed, or another operation has the side.
Descriptor::Begun Descriptor::begin_otherwise(Side side, const Interrupt* interrupt) noexcept {
  if (!acquire()) return {EBADF, Begun::kNothing};
  const int error = queue_for_side(side, interrupt);
  return {error, error == 0 ? Begun::kSide : Begun::kReference};
}

// The descriptor was closed meanwhile, an operation queues, or this operation never had the side.
void Descriptor::end_otherwise(Side side, Begun::Has has) noexcept {
  if (has == Begun::kSide) give_side(side);
  if (has != Begun::kNothing) drop();
}

}  // namespace weft::service
