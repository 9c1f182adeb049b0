// SPDX-License-Identifier: MIT
#pragma once
#include <cstring>
#include <new>

#include "api/chan_order.h"
#include "base/atomic.h"
#include "os/clock.h"
#include "sched/bias/channel_lock.h"
#include "sched/state/control.h"
#include "sched/wait/waiter.h"
#include "weft/detail/chan_core.h"

// Channel.
//   Job         A bounded FIFO of elements with a FIFO of waiters on each side. If one side waits, an element is moved
//               straight between the stacks of sender and receiver.
//   Invariants  C1 Receivers wait => there is no element, and no sender waits.
//               C2 Senders wait => the buffer is full.
//               C3 The channel is closed => there are no waiters.
//               Waiters of a select that has been decided elsewhere do not count: pop() drops them.
//   Owned by    lock_ (Rank::kWaitList). count_, state_ and whether the lists are empty may be read without it, as
//               hints.
//   Direct move After pop() the waiter belongs to the popper. The element is moved after the lock is released and
//               before wake(); the waiter's frame lives until then.
//   Lifetime    Handles are counted. If the last handle goes while there are waiters, the channel stays as an orphan,
//               and goes with the last waiter. Only their time limits can wake these waiters. So waiting itself counts
//               no reference, which would be two locked operations for each park. A waiter that was decided elsewhere
//               and dropped by pop() still comes back here to leave(). It is a stray until then, and holds the channel
//               as listed waiters do.
namespace weft::detail {

class timer_chan;

class chan_core {
  friend class timer_chan;

 public:
  chan_core(std::size_t capacity, const element_ops& ops, std::byte* buffer, const char* name) noexcept
      : plain_bytes_(plain_bytes(ops)),
        capacity_(capacity),
        buffer_(buffer),
        ops_(&ops),
        name_(name),
        order_(capacity) {}
  ~chan_core();

  // A context's channel (context.cc); called before other threads can see it. The context calls close(); close_chan()
  // is for the user.
  void give_to_context() noexcept { state_.store_relaxed(kContexts); }

  chan_outcome send(void* value, std::int64_t deadline_ns);
  chan_outcome receive(void* storage, std::int64_t deadline_ns);
  bool close();
  // close() in two steps, for a caller that must not wake others yet: `released` is for sched::wake_all(). False: the
  // channel was closed already.
  bool close_silently(sched::WaitList& released) noexcept;

  std::size_t size() const noexcept { return count_.load_relaxed(); }
  std::size_t capacity() const noexcept { return capacity_; }
  const char* name() const noexcept { return name_; }
  bool is_ticker() const noexcept { return period_ns_ > 0; }
  bool is_timer() const noexcept { return state_.load_relaxed() == kTimers; }
  bool is_contexts() const noexcept { return state_.load_relaxed() == kContexts; }
  // Only its timer or context sends or closes.
  bool has_owner() const noexcept { return (state_.load_relaxed() & kOwned) != 0; }
  bool is_closed() const noexcept { return state_.load_acquire() == kClosed; }  // pairs: chan.closed

  static void destroy(chan_core* channel) noexcept;

  // For select: a waiter of this channel is queued; it was woken.
  void queues(sched::Waiter& waiter) noexcept { order_.queues(waiter); }
  void woken([[maybe_unused]] const sched::Waiter& waiter) const noexcept {
#if WEFT_TELLS_TSAN
    if (waiter.success) ChanOrder::woken(waiter);
    if (!waiter.success || is_timer()) order_acquire(this);  // after the closer, or the setter of the timer
#endif
  }
  bool has_one_handle() const noexcept { return references_.load_relaxed() == 1; }
  void retain() noexcept { references_.fetch_add_relaxed(1); }
  void release() noexcept;
  // A waiter that was not woken through this channel leaves it.
  void leave(bool is_send, sched::Waiter& waiter) noexcept;
  // The same for a channel that may be a timer's.
  void leave_any(bool is_send, sched::Waiter& waiter) noexcept {
    WEFT_UNLIKELY(is_timer()) ? leave_timer(waiter) : leave(is_send, waiter);
  }
  // Called after a goroutine has queued on a timer's channel. From now on it is woken at its time.
  void arm() noexcept;

  // --- select ---
  // Whether this case could run now. Without the lock it is a hint, exact for a channel that no other thread uses.
  bool looks_ready(bool is_send) const noexcept {
    if (WEFT_UNLIKELY(is_timer())) return is_send || timer_due();  // a send is ready to be refused
    if (is_send)
      return size() < capacity_ || !receivers_.empty() || state_.load_acquire() != kOpen;  // pairs: chan.closed
    // The count first: a thread that sees it emptied after a close sees the close, too.
    return count_.load_acquire() > 0 || !senders_.empty() || is_closed();  // pairs: chan.count
  }
  // When a plain thread looks again without being woken: the time of a timer's channel (timer_chan.h).
  std::int64_t due_for_thread() const noexcept {
    return is_timer() && os::current_p() == nullptr ? when_ns_.load_relaxed() : os::kForever;
  }
  sched::ChannelLock& lock() noexcept { return lock_; }
  // Under the lock: as looks_ready(), but exact.
  bool is_ready(bool is_send) const noexcept {
    return WEFT_UNLIKELY(looks_ready(is_send)) && is_ready_beside_decided(is_send);
  }
  sched::WaitList& waiters(bool is_send) noexcept { return is_send ? senders_ : receivers_; }
  // Runs the operation if it can be run now.
  chan_outcome try_send(void* value, void (*copy)(void*, const void*));
  chan_outcome try_receive(void* storage);

 private:
  // kTimers holds from the start, and such a channel is never closed. kContexts holds until the channel is closed.
  // Receivers park in the first two states.
  static constexpr std::uint8_t kOpen = 0, kContexts = 1, kClosed = 2, kTimers = 3;
  static constexpr std::uint8_t kOwned = 1;

  std::byte* slot(std::size_t index) const noexcept { return buffer_ + index * ops_->size; }
  static std::size_t after(std::size_t index, std::size_t capacity) noexcept {
    return index + 1 == capacity ? 0 : index + 1;
  }
  static std::uint8_t plain_bytes(const element_ops& ops) noexcept {
    const bool is_plain = ops.move == nullptr && ops.destroy == nullptr && (ops.size == 4 || ops.size == 8);
    return is_plain ? static_cast<std::uint8_t>(ops.size) : 0;
  }
  bool refuses_sends() const noexcept { return state_.load_relaxed() != kOpen; }
  bool lets_receivers_park() const noexcept { return state_.load_relaxed() <= kContexts; }
  bool was_closed() const noexcept { return state_.load_relaxed() == kClosed; }  // under the lock
  [[noreturn]] void refuse_send() const;
  void move(void* to, void* from) const noexcept;
  void move_object(void* to, void* from, std::uint32_t depth) const noexcept;
  void put_into_buffer(void* from) const noexcept;
  void take_from_buffer(void* to) const noexcept;
  // What most operations on buffered channels are: one machine word in or out of the buffer, with no waiters. The lock
  // is held on entry. True: done, and the lock is released.
  bool put_word(const void* value) noexcept;
  bool get_word(void* storage) noexcept;
  bool is_ready_beside_decided(bool is_send) const noexcept;
  sched::Waiter* pop(sched::WaitList& list) noexcept { return list.pop(&strays_); }
  // Takes off a waiter that was not woken through this list.
  void take_off(sched::WaitList& list, sched::Waiter& waiter) noexcept {
    if (WEFT_LIKELY(waiter.queued)) {
      list.remove(waiter);
    } else {
      --strays_;
    }
  }
  bool is_unused() const noexcept { return receivers_.empty() && senders_.empty() && strays_ == 0; }
  bool timer_due() const noexcept { return when_ns_.load_relaxed() <= sched::caller_now_ns(); }
  void park_on(sched::WaitList& list, sched::Waiter& waiter, sched::Goroutine* g, sched::WaitReason reason,
               void* element) noexcept;
  chan_outcome send_now(void* value, void (*copy)(void*, const void*));
  chan_outcome send_slowly(void* value, std::int64_t deadline_ns);
  chan_outcome send_locked(sched::Goroutine* g, void* value, std::int64_t deadline_ns);
  chan_outcome send_parked(sched::Goroutine* g, void* value);
  chan_outcome send_otherwise(void* value, std::int64_t deadline_ns);
  chan_outcome send_later(void* value, std::int64_t deadline_ns);
  // Passes the empty buffer by, as if the element had gone through it.
  void pass_by_buffer(sched::Waiter& partner) noexcept;
  // Moves an element between our stack and that of a waiter that pop() has given us.
  chan_outcome pass(sched::Waiter& partner, void* to, void* from) noexcept;
  chan_outcome send_to_receiver(sched::Goroutine* g, void* value, std::int64_t deadline_ns);
  chan_outcome send_to_select(sched::Goroutine* g, void* value, std::int64_t deadline_ns);
  chan_outcome receive_now(void* storage);
  chan_outcome receive_buffered(void* storage, std::size_t count);
  chan_outcome receive_slowly(void* storage, std::int64_t deadline_ns);
  chan_outcome receive_locked(sched::Goroutine* g, void* storage, std::int64_t deadline_ns);
  chan_outcome receive_parked(sched::Goroutine* g, void* storage);
  chan_outcome receive_from_sender(sched::Goroutine* g, void* storage, std::int64_t deadline_ns);
  bool receive_copy(sched::Waiter& sender, void* storage) noexcept;
  chan_outcome receive_otherwise(void* storage, std::int64_t deadline_ns);
  chan_outcome receive_later(void* storage, std::int64_t deadline_ns);
  chan_outcome receive_tick(void* storage) noexcept;
  void leave_timer(sched::Waiter& waiter) noexcept;
  // From a waiting sender. False: its copy threw, the exception is the sender's, and this sender is done.
  bool take_into_buffer(sched::Waiter& sender) const noexcept;
  static bool take_copy(sched::Waiter& sender, void* to, std::uint32_t depth) noexcept;

  // The fields that an operation on an unbuffered channel needs stand together: 64 bytes.
  sched::ChannelLock lock_;
  base::Atom<std::uint8_t> state_{kOpen};
  const std::uint8_t plain_bytes_;  // 0: elements are not plain words
  std::size_t capacity_;
  base::Atom<std::size_t> count_{0};
  sched::WaitList receivers_, senders_;
  const sched::Goroutine* first_waiting_ = nullptr;  // was the first to wait here; may be gone: only to be prefetched

  std::byte* buffer_;
  std::size_t send_index_ = 0, receive_index_ = 0;
  const element_ops* ops_;
  base::Atom<std::uint32_t> references_{1};
  bool orphan_ = false;
  std::uint32_t strays_ = 0;  // waiters dropped by pop() that have not left yet
  base::Atom<std::int64_t> when_ns_{os::kForever};
  std::int64_t period_ns_ = 0;
  const char* name_;
  [[no_unique_address]] ChanOrder order_;
  bool is_started_ = false;  // a timer that was neither stopped nor received, however distant its time
};

// The cases of a goroutine that waits in a select, from its wait object; for dumps.
// The channel whose waker ended that select, which has not run since. Null: a time limit or an event did.
const chan_core* channel_that_ended(const void* object) noexcept;
std::size_t cases_of_waiting_select(const void* object, const select_case** cases) noexcept;

}  // namespace weft::detail
