// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/ranked_mutex.h"
#include "sched/wait/wait_queue.h"
#include "service/netpoll_descriptor_gate.h"
#include "weft/detail/happens_before.h"

// A descriptor in non-blocking mode whose users wait in the netpoller.
//   Use         Operation op(d, side); if (op.error()) ...; while (call fails with EAGAIN) if (int e = op.wait()) ...
//   Sides       Reading and writing are independent. One operation at a time has a side; the others queue for it in
//               order. So a whole write stays whole, and 100 readers of a socket each get their own datagram.
//   Word        refs_ holds the closed bit, for each side whether it is taken and whether operations queue for it, and
//               the number of references. An uncontended operation costs one CAS at its begin and one at its end.
//               Invariants:
//               D1 kClosed is set once and stays. After it no operation takes a reference or a side, unless it has a
//                  reference already.
//               D2 A taken bit has one owner, which has a reference. It passes the bit on or clears it before it drops
//                  that reference.
//               D3 A queued bit is set exactly while the side's queue is not empty, seen under the side's lock. It is
//                  set in the CAS that finds the side taken. So the side's owner sees it when it ends; or the owner has
//                  ended before, and then the CAS finds the side free.
//               D4 The drop that leaves kClosed and nothing else closes the number. No operation can have another
//                  reference after it (D1).
//   Deadlines   Absolute, one for each side, changeable at any time. A timer sets the side's `expired` bit and
//               interrupts the operations that wait. Setting a new deadline stops the timer (which waits for its
//               callback) and clears the bit.
//   Close       sets the closed bit, interrupts and wakes all operations on both sides, and leaves the poller. The last
//               operation to leave closes the number, so that no system call of ours ever meets a number that means
//               another file by now. close() returns when that has happened.
//   Level       Watched by edge, a reader has to find the kernel's queue empty before it may wait. A reader whose
//               messages fill its buffer exactly learns that only by a read in vain, for each message. Watched by level
//               it need not: the next look reports again what is left, which costs the kernel a fifth of that call. A
//               reader that waits without having seen the end of the queue relies on level_, which is set after the
//               kernel was told, and cleared before the kernel is told otherwise. Telling it otherwise (EPOLL_CTL_MOD)
//               reports what is there, so nothing falls between the two.
//               It ends when reports find no waiter (a look would never block again), when an operation waits to write
//               (by level, that would be reported all the time), with urgent data, and with the end of the stream.
//   Memory      Descriptors are never unmapped (netpoll.h). A late report of the kernel finds a descriptor, and the
//               gate finds that its sequence number has changed.
//   Orders      descriptor.refs: begins acquire, ends release. So the owner of a side sees what its last owner did, and
//               the thread that closes the number comes after every last use of it. The plain members keep_number_ and
//               fd_ ride on the same pairs. gate.flags: seq_cst on both sides, the closer's {set kClosed; interrupt the
//               gate} against the waiter's {begin_wait; look at the reasons}. With acquire and release only, both could
//               miss each other. The same for descriptor.suspicious: a report that finds the gate ready leaves it as it
//               is. So a reader that uses that readiness up later must see, in the single order of seq_cst operations,
//               that the end has come.
//   Rejected    A count of references and a lock for each side: four locked operations for a call instead of two.
//               Closing by shutdown(2), so that calls return by themselves: no help for datagrams, and the peer is
//               told. Closing the number at once: the next open() gets it while a call of ours is under way.
//   Checked     tests/model/api/netpoll_descriptor_test.cc explores this very source, and finds mutants of it.
namespace weft::service {

enum class Side : std::uint8_t { kRead, kWrite };

// A reason from outside to stop waiting, e.g. a cancelled context.
// `raised` is set before Descriptor::interrupt() is called.
struct Interrupt {
  base::Atom<bool> raised{false};
};

class alignas(base::kCacheLine) Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;

  int fd() const noexcept { return fd_; }
  bool is_closed() const noexcept { return (refs_.load_relaxed() & kClosed) != 0; }

  // os::kForever: none.
  void set_deadline(Side side, std::int64_t deadline_ns) noexcept;

  // Idempotent. False: it was closed before.
  bool close() noexcept;
  // As close(), but the number stays open: the caller's now. -1: it was closed before.
  int release() noexcept;

  // Operations that wait on the side look at their reasons to stop again.
  void interrupt(Side side) noexcept;

  // The kernel's report (netpoll.cc).
  void notify(std::uint32_t sequence, std::uint32_t what, sched::RunnableList& ready) noexcept;
  // False: the peer has closed, or out-of-band data came. Then a short read does not mean that there is no more to
  // read.
  bool trusts_short_reads() const noexcept { return !suspicious_.load_seq_cst(); }  // pairs: descriptor.suspicious

  // These three: for the operation that has the reading side.
  bool is_watched_by_level() const noexcept { return level_.load_seq_cst(); }  // pairs: descriptor.level
  void watch_by_level() noexcept;
  void watch_by_edge() noexcept;

 private:
  friend class Operation;
  friend class Netpoll;
  // Bits of refs_. The bits below them are the number of references.
  static constexpr std::uint32_t kClosed = 1u << 31, kTaken = 1u << 28,
                                 kQueued = 1u << 26;  // two bits each: one for a side
  static constexpr std::uint32_t taken_bit(Side side) noexcept { return kTaken << static_cast<int>(side); }
  static constexpr std::uint32_t queued_bit(Side side) noexcept { return kQueued << static_cast<int>(side); }
  static constexpr std::uint8_t kMostUnattended = 8, kMostChanges = 8;

  struct Direction {
    PollGate<> gate;
    sched::Sleeper who;  // written before kWaiting, read after the move out of it
    base::Atom<bool> expired{false};
    os::SpinLock lock;  // over the queue and the side's queued bit
    sched::WaitList queue;
    struct Deadline : sched::Timer {
      Descriptor* descriptor = nullptr;
    } deadline;
  };

  Direction& at(Side side) noexcept { return directions_[static_cast<int>(side)]; }
  bool acquire() noexcept;
  void drop() noexcept;
  bool shut(bool keep_number) noexcept;
  int reason_to_stop(Side side, const Interrupt* interrupt) const noexcept;
  // What an operation has got. Passed by value both ways, so that its address never escapes and the compiler keeps an
  // operation in registers.
  struct Begun {
    enum Has : int { kNothing, kReference, kSide };  // kSide includes a reference
    int error;                                       // not 0: the operation must not go on
    Has has;
  };
  bool try_begin(Side side) noexcept;
  bool try_end(Side side) noexcept;
  Begun begin_otherwise(Side side, const Interrupt* interrupt) noexcept;
  void end_otherwise(Side side, Begun::Has has) noexcept;
  int queue_for_side(Side side, const Interrupt* interrupt) noexcept;
  void give_side(Side side) noexcept;
  int wait(Side side, const Interrupt* interrupt) noexcept;
  static void on_deadline(sched::Timer* timer);
  void leave_level_for_writing() noexcept;
  void leave_level_in_poller(bool for_good) noexcept;

  int fd_ = -1;
  std::uint32_t index_ = 0;     // in the table
  std::uint32_t sequence_ = 0;  // of this life
  base::Atom<std::uint32_t> refs_{kClosed};
  base::Atom<bool> suspicious_{false};
  base::Atom<bool> level_{false};           // changed under level_lock_
  base::Atom<bool> level_refused_{false};   // not again in this life
  base::Atom<std::uint8_t> unattended_{0};  // reports in a row that found no waiter; a hint
  std::uint8_t level_left_ = 0;             // how often level_ was cleared; under level_lock_
  bool keep_number_ = false;
  Direction directions_[2];
  os::RankedMutex<base::Rank::kDescriptor> deadline_lock_, level_lock_;
  sched::WaitQueue closing_;
  bool gone_ = false;  // under closing_.lock: the number is closed
  Descriptor* next_free_ = nullptr;
};

// --- the path of every call, inlined into it ---

inline int Descriptor::reason_to_stop(Side side, const Interrupt* interrupt) const noexcept {
  if ((refs_.load_seq_cst() & kClosed) != 0) return EBADF;                           // pairs: gate.flags
  if (interrupt != nullptr && interrupt->raised.load_seq_cst()) return ECANCELED;    // pairs: gate.flags
  if (directions_[static_cast<int>(side)].expired.load_seq_cst()) return ETIMEDOUT;  // pairs: gate.flags
  return 0;
}

// The side is free and no operation queues for it: takes the reference and the side at once.
inline bool Descriptor::try_begin(Side side) noexcept {
  std::uint32_t refs = refs_.load_relaxed();  // the CAS validates it
  do {
    if (WEFT_UNLIKELY((refs & (kClosed | taken_bit(side) | queued_bit(side))) != 0)) return false;
  } while (!refs_.cas_acquire(refs, (refs + 1) | taken_bit(side)));  // pairs: descriptor.refs
  return true;
}

// No operation queues for the side, and the descriptor is not closed.
inline bool Descriptor::try_end(Side side) noexcept {
  detail::order_release(&refs_);
  std::uint32_t refs = refs_.load_relaxed();  // the CAS validates it
  do {
    if (WEFT_UNLIKELY((refs & (kClosed | queued_bit(side))) != 0)) return false;
  } while (!refs_.cas_acq_rel(refs, (refs - 1) & ~taken_bit(side)));  // pairs: descriptor.refs
  return true;
}

// One read, write, accept or connect. Errors are errno values: EBADF closed, ETIMEDOUT deadline, ECANCELED interrupted.
class Operation {
 public:
  Operation(Descriptor& descriptor, Side side, const Interrupt* interrupt = nullptr) noexcept
      : descriptor_(descriptor), interrupt_(interrupt), side_(side) {
    begun_ = WEFT_LIKELY(descriptor_.try_begin(side_))
                 ? Descriptor::Begun{descriptor_.reason_to_stop(side_, interrupt_), Descriptor::Begun::kSide}
                 : descriptor_.begin_otherwise(side_, interrupt_);
  }
  ~Operation() {
    if (WEFT_LIKELY(begun_.has == Descriptor::Begun::kSide && descriptor_.try_end(side_))) return;
    descriptor_.end_otherwise(side_, begun_.has);
  }
  Operation(const Operation&) = delete;

  int error() const noexcept { return begun_.error; }  // not 0: it did not begin
  int fd() const noexcept { return descriptor_.fd_; }
  Descriptor& descriptor() noexcept { return descriptor_; }
  // Waits until something happens on this side. 0: try again.
  int wait() noexcept { return descriptor_.wait(side_, interrupt_); }
  // Closed, past the deadline or interrupted by now? For waits outside the netpoller.
  int reason_to_stop() const noexcept { return descriptor_.reason_to_stop(side_, interrupt_); }

 private:
  Descriptor& descriptor_;
  const Interrupt* interrupt_;
  Side side_;
  Descriptor::Begun begun_;
};

}  // namespace weft::service
