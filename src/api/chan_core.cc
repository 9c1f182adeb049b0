// SPDX-License-Identifier: MIT
#include "api/chan_core.h"

#include <algorithm>
#include <new>
#include <stdexcept>

#include "api/start.h"
#include "api/timer_chan.h"
#include "arch/context_layout.h"
#include "base/cache_line.h"
#include "sched/core/lease.h"
#include "sched/core/preempt.h"
#include "sched/state/control.h"
#include "sched/wait/traced_wait.h"
#include "sched/wait/wait_queue.h"
#include "weft/detail/clock.h"
#include "weft/error.h"

// Why the hand-off is right. The invariants C1-C3 stand in chan_core.h; tests/model/api/chan_test.cc explores this
// file.
//   Ownership   A queued waiter belongs to the lock. pop() under the lock decides the waiter's Choice and gives the
//               waiter to the popper. No other thread can reach it then, and its frame stays, because its owner sleeps
//               until wake(). So the element is moved without the lock.
//   No loss     A side queues under the lock, after it has seen there that it must wait. The other side looks under the
//               lock. So one of the two sees the other. What is read without the lock (looks_ready) only says "would
//               block" of one moment, or is read again under the lock.
//   Orders      Buffer and lists: the lock (biased_lock.h). The element and `success` are written before wake():
//               ready() orders them before the switch, or the note does for a thread. A try that sees the last element
//               gone (chan.count) sees a close before it (chan.closed).
//   Once        Several threads may want to wake a waiter with a time limit, or of a select. Choice::fire() succeeds
//               for one of them, which decides and wakes.
//   Rejected    A lock-free ring for buffered channels: close, select and FIFO waiters would need a second protocol
//               beside it. Waking before moving: the waiter's frame may be gone.
namespace weft::detail {
namespace {

using sched::Wait;
using sched::Waiter;
using sched::WaitReason;

constexpr std::size_t kMaxBytes = std::size_t{1} << 46;  // beyond what a process can map: a mistake, not a channel

// A nil channel: only the time limit ends the wait.
chan_outcome wait_on_nil(WaitReason reason, std::int64_t deadline_ns) {
  if (deadline_ns == 0) return chan_outcome::would_block;
  Wait wait(reason, nullptr, deadline_ns);
  wait.begin();
  wait.wait();
  return chan_outcome::would_block;
}

// What is needed of a parked goroutine may be in no cache: its waiter, its G, and the registers it has saved right
// below the waiter. Each is found through the one before, so all are prefetched at once (a token round 10,000
// goroutines: 150 -> 92 ns a hop; with two goroutines, which are in the cache, no difference).
__attribute__((always_inline)) inline void fetch_parked(const Waiter* waiter, const void* g) noexcept {
  constexpr std::ptrdiff_t kReturns = 16;  // bytes that park() itself keeps there
  const auto* at = reinterpret_cast<const std::byte*>(waiter);
  __builtin_prefetch(g);
  for (std::ptrdiff_t below = kReturns + WEFT_CONTEXT_SIZE; below > 0;
       below -= static_cast<std::ptrdiff_t>(base::kCacheLine))
    __builtin_prefetch(at - below);
}

}  // namespace

chan_core::~chan_core() {
  if (ops_->destroy != nullptr)
    for (std::size_t i = 0, n = count_.load_relaxed(); i < n; ++i, receive_index_ = after(receive_index_, capacity_))
      ops_->destroy(slot(receive_index_));
}

// Moves an element that is a plain word. False: it is an object.
__attribute__((always_inline)) static inline bool move_word(std::size_t bytes, void* to, const void* from) noexcept {
  if (bytes == 8) {
    std::memcpy(to, from, 8);
  } else if (bytes == 4) {
    std::memcpy(to, from, 4);
  } else {
    return false;
  }
  return true;
}

__attribute__((always_inline)) inline void chan_core::move(void* to, void* from) const noexcept {
  if (!move_word(plain_bytes_, to, from)) move_object(to, from, 1);
}

// Runs the user's code. Other goroutines wait for it or, with kLockHeld, for the lock that is held.
__attribute__((noinline)) void chan_core::move_object(void* to, void* from, std::uint32_t depth) const noexcept {
  if (ops_->move != nullptr) {
    const sched::NonPreemptible others_wait(depth);
    ops_->move(to, from);
  } else if (ops_->size != 0) {  // an empty type has no buffer to point to
    std::memcpy(to, from, ops_->size);
  }
}

bool chan_core::take_copy(Waiter& sender, void* to, std::uint32_t depth) noexcept {
  try {
    const sched::NonPreemptible others_wait(depth);
    sender.copy(to, sender.element);
    return true;
  } catch (...) {
    *sender.error = std::current_exception();
    return false;
  }
}

// --- the buffer, with the lock held ---

__attribute__((always_inline)) inline void chan_core::put_into_buffer(void* from) const noexcept {
  if (!move_word(plain_bytes_, slot(send_index_), from)) move_object(slot(send_index_), from, sched::kLockHeld);
}

__attribute__((always_inline)) inline void chan_core::take_from_buffer(void* to) const noexcept {
  std::byte* element = slot(receive_index_);
  if (move_word(plain_bytes_, to, element)) return;
  move_object(to, element, sched::kLockHeld);
  if (ops_->destroy == nullptr) return;
  const sched::NonPreemptible with_lock(sched::kLockHeld);
  ops_->destroy(element);
}

// False: the sender's copy threw.
__attribute__((always_inline)) inline bool chan_core::take_into_buffer(Waiter& sender) const noexcept {
  sender.success = true;
  [[maybe_unused]] const OfSleeper element(order_);
  if (WEFT_UNLIKELY(sender.copy != nullptr)) return take_copy(sender, slot(send_index_), sched::kLockHeld);
  put_into_buffer(sender.element);
  return true;
}

// --- the operations, with the lock held; each releases it unless it would block ---

__attribute__((always_inline)) inline bool chan_core::put_word(const void* value) noexcept {
  const std::size_t count = count_.load_relaxed(), index = send_index_;
  if (count == capacity_ || plain_bytes_ == 0 || refuses_sends() || !receivers_.empty()) return false;
  if (plain_bytes_ == 8) {
    std::memcpy(buffer_ + index * 8, value, 8);
  } else {
    std::memcpy(buffer_ + index * 4, value, 4);
  }
  send_index_ = after(index, capacity_);
  count_.store_release(count + 1);  // pairs: chan.count
  order_.before_use(index);
  order_.after_use(index);
  lock_.unlock_counted();
  return true;
}

__attribute__((always_inline)) inline bool chan_core::get_word(void* storage) noexcept {
  const std::size_t count = count_.load_relaxed(), index = receive_index_;
  if (count == 0 || plain_bytes_ == 0 || !senders_.empty()) return false;
  if (plain_bytes_ == 8) {
    std::memcpy(storage, buffer_ + index * 8, 8);
  } else {
    std::memcpy(storage, buffer_ + index * 4, 4);
  }
  receive_index_ = after(index, capacity_);
  count_.store_release(count - 1);  // pairs: chan.count
  order_.before_use(index);
  order_.after_use(index);
  lock_.unlock_counted();
  return true;
}

__attribute__((always_inline)) inline void chan_core::pass_by_buffer([[maybe_unused]] Waiter& partner) noexcept {
#if WEFT_TELLS_TSAN
  if (!order_.is_buffered()) return;
  const std::size_t index = send_index_;
  send_index_ = receive_index_ = after(index, capacity_);
  order_.before_use(index);
  order_.after_use(index);
  order_.use_by(index, partner);
#endif
}

__attribute__((always_inline)) inline chan_outcome chan_core::pass(Waiter& partner, void* to, void* from) noexcept {
  pass_by_buffer(partner);
  lock_.unlock_counted();
  order_.meets(partner);
  {
    [[maybe_unused]] const OfSleeper element(order_);
    move(to, from);
  }
  order_.has_met(partner);
  partner.success = true;
  sched::wake(&partner);
  return chan_outcome::done;
}

// False: the sender's copy threw.
__attribute__((noinline)) bool chan_core::receive_copy(Waiter& sender, void* storage) noexcept {
  lock_.unlock();
  sender.success = true;
  order_.meets(sender);
  const bool taken = take_copy(sender, storage, 1);
  order_.has_met(sender);
  sched::wake(&sender);
  return taken;
}

void chan_core::refuse_send() const {
  throw logic_error(is_timer() ? "weft: send on the channel of a timer: only the timer does that"
                               : "weft: send on the channel of a context: nobody does that, it is only closed");
}

// The value goes to a waiting receiver or into the buffer. Only select gives a `copy`; for all others the compiler
// knows that it is null.
__attribute__((always_inline)) inline chan_outcome chan_core::send_now(void* value, void (*copy)(void*, const void*)) {
  if (WEFT_UNLIKELY(refuses_sends())) {
    lock_.unlock();
    if (has_owner()) refuse_send();
    order_acquire(this);
    return chan_outcome::closed;
  }
  if (Waiter* receiver = pop(receivers_)) {
    if (WEFT_LIKELY(copy == nullptr)) return pass(*receiver, receiver->element, value);
    pass_by_buffer(*receiver);
    lock_.unlock();
    order_.meets(*receiver);
    try {
      [[maybe_unused]] const OfSleeper element(order_);
      const sched::NonPreemptible receiver_waits;
      copy(receiver->element, value);
    } catch (...) {  // the receiver was promised a value: it goes back and tries again
      receiver->retry = true;
      sched::wake(receiver);
      throw;
    }
    order_.has_met(*receiver);
    receiver->success = true;
    sched::wake(receiver);
    return chan_outcome::done;
  }
  const std::size_t count = count_.load_relaxed();
  if (count == capacity_) return chan_outcome::would_block;
  order_.before_use(send_index_);
  if (WEFT_UNLIKELY(copy != nullptr)) {
    try {
      const sched::NonPreemptible with_lock(sched::kLockHeld);
      copy(slot(send_index_), value);
    } catch (...) {
      lock_.unlock();
      throw;
    }
  } else {
    put_into_buffer(value);
  }
  order_.after_use(send_index_);
  send_index_ = after(send_index_, capacity_);
  count_.store_release(count + 1);  // pairs: chan.count
  lock_.unlock();
  return chan_outcome::done;
}

chan_outcome chan_core::try_send(void* value, void (*copy)(void*, const void*)) {
  lock_.lock();
  const chan_outcome outcome = send_now(value, copy);
  if (outcome == chan_outcome::would_block) lock_.unlock();
  return outcome;
}

// From the buffer. The longest waiting sender gets the free place.
__attribute__((always_inline)) inline chan_outcome chan_core::receive_buffered(void* storage, std::size_t count) {
  order_.before_use(receive_index_);
  take_from_buffer(storage);
  order_.after_use(receive_index_);
  receive_index_ = after(receive_index_, capacity_);
  Waiter* failed = nullptr;
  while (Waiter* sender = pop(senders_)) {  // C2: there is room for one now
    if (WEFT_LIKELY(take_into_buffer(*sender))) {
      order_.use_by(send_index_, *sender);
      send_index_ = after(send_index_, capacity_);
      lock_.unlock();
      if (failed != nullptr) sched::wake(failed);
      sched::wake(sender);
      return chan_outcome::done;
    }
    if (failed != nullptr) sched::wake(failed);
    failed = sender;
  }
  count_.store_release(count - 1);  // pairs: chan.count
  lock_.unlock();
  if (WEFT_UNLIKELY(failed != nullptr)) sched::wake(failed);
  return chan_outcome::done;
}

__attribute__((always_inline)) inline chan_outcome chan_core::receive_now(void* storage) {
  if (const std::size_t count = count_.load_relaxed(); count > 0) return receive_buffered(storage, count);
  while (Waiter* sender = pop(senders_)) {
    if (WEFT_LIKELY(sender->copy == nullptr)) return pass(*sender, storage, sender->element);
    if (receive_copy(*sender, storage)) return chan_outcome::done;
    lock_.lock();  // for the next sender
  }
  if (WEFT_UNLIKELY(is_timer())) return receive_tick(storage);
  if (was_closed()) {
    lock_.unlock();
    order_acquire(this);
    return chan_outcome::closed;
  }
  return chan_outcome::would_block;
}

chan_outcome chan_core::try_receive(void* storage) {
  lock_.lock();
  const chan_outcome outcome = receive_now(storage);
  if (outcome == chan_outcome::would_block) lock_.unlock();
  return outcome;
}

// Parks a goroutine without a time limit; no Wait is built. The lock is held on entry, and released.
__attribute__((always_inline)) inline void chan_core::park_on(sched::WaitList& list, Waiter& waiter,
                                                              sched::Goroutine* g, WaitReason reason,
                                                              void* element) noexcept {
  waiter.who = sched::Sleeper(g);
  waiter.element = element;
  if (list.empty()) first_waiting_ = g;
  order_.queues(waiter);
  if (trace::recording()) return sched::wait_traced(g, reason, this, list, waiter, lock_);
  sched::begin_wait_untraced(g, reason, this);
  list.push(waiter);
  lock_.unlock();
  sched::park();
}

// --- the operations as they are called ---
//   The most frequent case stands at the front of each. All else is called last, with nothing to keep meanwhile. So
//   there is no frame to make, and a parked goroutine has little on its stack.

__attribute__((always_inline)) inline chan_outcome chan_core::send_locked(sched::Goroutine* g, void* value,
                                                                          std::int64_t deadline_ns) {
  if (WEFT_LIKELY(!refuses_sends())) {
    if (!receivers_.empty()) return send_to_receiver(g, value, deadline_ns);
    if (WEFT_LIKELY(g != nullptr && deadline_ns == forever) && count_.load_relaxed() == capacity_)
      return send_parked(g, value);
  }
  return send_otherwise(value, deadline_ns);
}

chan_outcome chan_core::send(void* value, std::int64_t deadline_ns) {
  if (WEFT_UNLIKELY(deadline_ns == 0 || os::current_p() == nullptr || !lock_.try_lock()))
    return send_slowly(value, deadline_ns);
  if (put_word(value)) return chan_outcome::done;
  return send_locked(os::current_g(), value, deadline_ns);
}

__attribute__((noinline)) chan_outcome chan_core::send_slowly(void* value, std::int64_t deadline_ns) {
  sched::point();
  if (deadline_ns == 0) return looks_ready(true) ? try_send(value, nullptr) : chan_outcome::would_block;
  if (sched::has_lease()) {  // a goroutine on lease needs a P only for waiting
    const chan_outcome outcome = try_send(value, nullptr);
    if (outcome != chan_outcome::would_block) return outcome;
  }
  // Before the lock: a goroutine that has lost its P gets one here, and may have to wait for it.
  sched::Goroutine* g = sched::calling_goroutine();
  lock_.lock();
  return send_locked(g, value, deadline_ns);
}

__attribute__((noinline)) chan_outcome chan_core::send_to_receiver(sched::Goroutine* g, void* value,
                                                                   std::int64_t deadline_ns) {
  Waiter* receiver = receivers_.front();
  fetch_parked(receiver, first_waiting_);
  if (WEFT_UNLIKELY(receiver->choice != nullptr)) return send_to_select(g, value, deadline_ns);
  receivers_.take_off(receiver);
  return pass(*receiver, receiver->element, value);
}

// To a receiver of a select, or to one with a time limit.
__attribute__((noinline)) chan_outcome chan_core::send_to_select(sched::Goroutine* g, void* value,
                                                                 std::int64_t deadline_ns) {
  Waiter* receiver = receivers_.front();
  if (WEFT_LIKELY(receiver->choice->fire_in_line(receiver))) {
    receivers_.take_off(receiver);
    return pass(*receiver, receiver->element, value);
  }
  if ((receiver = pop(receivers_)) != nullptr) return pass(*receiver, receiver->element, value);
  return send_locked(g, value, deadline_ns);  // their selects had been decided: no receiver is left
}

__attribute__((noinline)) chan_outcome chan_core::send_parked(sched::Goroutine* g, void* value) {
  Waiter waiter;
  park_on(senders_, waiter, g, WaitReason::kChanSend, value);
  woken(waiter);
  return waiter.success ? chan_outcome::done : chan_outcome::closed;
}

__attribute__((noinline)) chan_outcome chan_core::send_otherwise(void* value, std::int64_t deadline_ns) {
  const chan_outcome outcome = send_now(value, nullptr);
  return outcome != chan_outcome::would_block ? outcome : send_later(value, deadline_ns);
}

// With a time limit, or on a plain thread. The lock is held, and there is no room.
chan_outcome chan_core::send_later(void* value, std::int64_t deadline_ns) {
  Wait wait(WaitReason::kChanSend, this, deadline_ns);
  Waiter waiter;
  wait.attach(waiter);
  waiter.element = value;
  wait.begin();
  order_.queues(waiter);
  senders_.push(waiter);
  lock_.unlock();
  if (!wait.wait()) {
    leave(true, waiter);
    return chan_outcome::would_block;
  }
  woken(waiter);
  return waiter.success ? chan_outcome::done : chan_outcome::closed;
}

__attribute__((always_inline)) inline chan_outcome chan_core::receive_locked(sched::Goroutine* g, void* storage,
                                                                             std::int64_t deadline_ns) {
  if (count_.load_relaxed() == 0) {
    if (!senders_.empty()) return receive_from_sender(g, storage, deadline_ns);
    if (WEFT_LIKELY(g != nullptr && deadline_ns == forever && lets_receivers_park())) return receive_parked(g, storage);
  }
  return receive_otherwise(storage, deadline_ns);
}

chan_outcome chan_core::receive(void* storage, std::int64_t deadline_ns) {
  if (WEFT_UNLIKELY(deadline_ns == 0 || os::current_p() == nullptr || !lock_.try_lock()))
    return receive_slowly(storage, deadline_ns);
  if (get_word(storage)) return chan_outcome::done;
  return receive_locked(os::current_g(), storage, deadline_ns);
}

__attribute__((noinline)) chan_outcome chan_core::receive_slowly(void* storage, std::int64_t deadline_ns) {
  sched::point();
  if (deadline_ns == 0) return looks_ready(false) ? try_receive(storage) : chan_outcome::would_block;
  if (sched::has_lease()) {
    const chan_outcome outcome = try_receive(storage);
    if (outcome != chan_outcome::would_block) return outcome;
  }
  sched::Goroutine* g = sched::calling_goroutine();
  lock_.lock();
  return receive_locked(g, storage, deadline_ns);
}

__attribute__((noinline)) chan_outcome chan_core::receive_from_sender(sched::Goroutine* g, void* storage,
                                                                      std::int64_t deadline_ns) {
  fetch_parked(senders_.front(), first_waiting_);
  Waiter* sender = pop(senders_);
  if (WEFT_LIKELY(sender != nullptr && sender->copy == nullptr)) return pass(*sender, storage, sender->element);
  if (sender == nullptr) return receive_locked(g, storage, deadline_ns);  // their selects had been decided
  return receive_copy(*sender, storage) ? chan_outcome::done : receive_slowly(storage, deadline_ns);
}

__attribute__((noinline)) chan_outcome chan_core::receive_parked(sched::Goroutine* g, void* storage) {
  Waiter waiter;
  park_on(receivers_, waiter, g, WaitReason::kChanReceive, storage);
  if (WEFT_UNLIKELY(waiter.retry)) return receive_slowly(storage, forever);
  woken(waiter);
  return waiter.success ? chan_outcome::done : chan_outcome::closed;
}

__attribute__((noinline)) chan_outcome chan_core::receive_otherwise(void* storage, std::int64_t deadline_ns) {
  const chan_outcome outcome = receive_now(storage);
  return outcome != chan_outcome::would_block ? outcome : receive_later(storage, deadline_ns);
}

// With a time limit, on a plain thread, or from a timer. The lock is held, and there is nothing to receive.
chan_outcome chan_core::receive_later(void* storage, std::int64_t deadline_ns) {
  for (;;) {
    const std::int64_t wake_at = std::min(deadline_ns, due_for_thread());
    Wait wait(WaitReason::kChanReceive, this, wake_at);
    Waiter waiter;
    wait.attach(waiter);
    waiter.element = storage;
    wait.begin();
    order_.queues(waiter);
    receivers_.push(waiter);
    lock_.unlock();
    if (WEFT_UNLIKELY(is_timer())) arm();
    const bool is_woken = wait.wait();
    if (is_woken && WEFT_LIKELY(!waiter.retry)) {
      woken(waiter);
      return waiter.success ? chan_outcome::done : chan_outcome::closed;
    }
    if (!is_woken && wake_at == deadline_ns) {
      leave_any(false, waiter);
      return chan_outcome::would_block;
    }
    sched::calling_goroutine();  // before the lock, as in send_slowly()
    // Look again: a timer's time has come for a plain thread, or the operation that woke the receiver has failed.
    lock_.lock();
    if (!is_woken) take_off(receivers_, waiter);
    const chan_outcome outcome = receive_now(storage);
    if (outcome != chan_outcome::would_block) return outcome;
  }
}

void chan_core::destroy(chan_core* channel) noexcept {
  order_acquire(&channel->references_);
  if (WEFT_UNLIKELY(channel->is_timer())) {  // has no buffer
    delete static_cast<timer_chan*>(channel);
    return;
  }
  std::byte* buffer = channel->buffer_;
  const std::align_val_t align{channel->ops_->align};
  delete channel;
  if (buffer != nullptr) ::operator delete(buffer, align);
}

void chan_core::release() noexcept {
  order_release(&references_);
  if (references_.fetch_sub_acq_rel(1) != 1) return;  // pairs: chan.references (self)
  lock_.lock();
  const bool unused = is_unused();
  orphan_ = true;
  lock_.unlock();
  if (unused) destroy(this);
}

void chan_core::leave(bool is_send, Waiter& waiter) noexcept {
  lock_.lock();
  take_off(waiters(is_send), waiter);
  const bool unused = WEFT_UNLIKELY(orphan_) && is_unused();
  lock_.unlock();
  if (unused) destroy(this);
}

bool chan_core::close() {
  sched::point();
  sched::WaitList released;
  if (!close_silently(released)) return false;
  sched::wake_all(released);  // success stays false: closed
  return true;
}

bool chan_core::close_silently(sched::WaitList& released) noexcept {
  order_release(this);
  lock_.lock();
  if (was_closed()) {
    lock_.unlock();
    return false;
  }
  state_.store_release(kClosed);  // pairs: chan.closed
  while (Waiter* waiter = pop(receivers_)) released.push(*waiter);
  while (Waiter* waiter = pop(senders_)) released.push(*waiter);
  lock_.unlock();
  return true;
}

bool chan_core::is_ready_beside_decided(bool is_send) const noexcept {
  if (was_closed()) return true;
  if (is_timer()) return is_send || timer_due();
  if (is_send && refuses_sends()) return true;
  if (is_send ? count_.load_relaxed() < capacity_ : count_.load_relaxed() > 0) return true;
  for (const Waiter* waiter = (is_send ? receivers_ : senders_).front(); waiter != nullptr; waiter = waiter->next)
    if (waiter->choice == nullptr || !waiter->choice->has_fired()) return true;
  return false;
}

// --- what the templates call ---

chan_core* make_chan(std::size_t capacity, const element_ops& ops, const char* name) {
  if (ops.size != 0 && capacity > kMaxBytes / ops.size) throw std::length_error("weft: chan: size out of range");
  api::ensure_started();
  std::byte* buffer = nullptr;
  if (ops.size != 0 && capacity != 0)
    buffer = static_cast<std::byte*>(::operator new(capacity * ops.size, std::align_val_t{ops.align}));
  auto* channel = new (std::nothrow) chan_core(capacity, ops, buffer, name);
  if (channel != nullptr) sched::control_lock(channel->lock());
  if (channel == nullptr) {
    ::operator delete(buffer, std::align_val_t{ops.align});
    throw std::bad_alloc();
  }
  return channel;
}

void retain_chan(chan_core* channel) noexcept { channel->retain(); }

void release_chan(chan_core* channel) noexcept { channel->release(); }

chan_outcome send_on(chan_core* channel, void* value, std::int64_t deadline_ns) {
  if (WEFT_UNLIKELY(channel == nullptr)) return wait_on_nil(WaitReason::kNilChanSend, deadline_ns);
  return channel->send(value, deadline_ns);
}
chan_outcome receive_from(chan_core* channel, void* storage, std::int64_t deadline_ns) {
  if (WEFT_UNLIKELY(channel == nullptr)) return wait_on_nil(WaitReason::kNilChanReceive, deadline_ns);
  return channel->receive(storage, deadline_ns);
}
bool close_chan(chan_core* channel) {
  if (WEFT_UNLIKELY(channel->has_owner()))
    throw logic_error(channel->is_timer()
                          ? "weft: close of the channel of a timer: stop the timer instead"
                          : "weft: close of the channel of a context: only the context closes it; cancel it instead");
  return channel->close();
}
std::size_t chan_size(const chan_core* channel) noexcept { return channel->size(); }
std::size_t chan_capacity(const chan_core* channel) noexcept { return channel->capacity(); }
bool chan_closed(const chan_core* channel) noexcept {
  const bool is_closed = channel->is_closed();
  if (is_closed) order_acquire(channel);
  return is_closed;
}

void throw_send_on_closed() { throw logic_error("weft: send on a closed channel"); }
void throw_close_of_closed() { throw logic_error("weft: close of a closed channel"); }
void throw_close_of_nil() { throw logic_error("weft: close of a nil channel"); }

}  // namespace weft::detail
