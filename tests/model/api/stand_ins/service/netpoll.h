// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cerrno>

#include "os/futex.h"
#include "os/poll_set.h"
#include "service/netpoll_descriptor.h"

// Stands in for src/service/netpoll.h and for the kernel behind it: one descriptor, which is a stream of messages, and a poller that
// reports what happens to it as epoll does.
//   Queued    an arrival puts the descriptor into the kernel's list. What is reported is the state at the time of the look, not that of
//             the arrival. Watched by edge, a look takes it off the list; watched by level, only one that finds nothing.
//   Change    (EPOLL_CTL_MOD) puts it into the list if there is anything to report then.
//   Order     what two threads do in the kernel is ordered by its locks, but who uses the number is watched outside them: closing
//             it must be ordered by the descriptor's own word.
namespace weft::service {

class Netpoll {
 public:
  Netpoll() { instance = this; }
  static inline Netpoll* instance;  // of this execution
  static constexpr int kNumber = 1'000'000;

  void adopt(Descriptor& descriptor) {
    watched_ = &descriptor;
    descriptor.fd_ = kNumber;
    ++descriptor.sequence_;
    for (Descriptor::Direction& direction : descriptor.directions_) direction.gate.open(descriptor.sequence_);
    descriptor.refs_.store_release(0);
  }
  static bool is_at_rest(const Descriptor& descriptor, bool closed) {
    return descriptor.refs_.debug_value() == (closed ? Descriptor::kClosed : 0);
  }

  // --- what Descriptor asks of it ---

  bool watch(Descriptor&, bool level) {
    use_number();
    lock_.lock(RL_INFO);
    by_level_ = level;
    if (registered_ && state() != 0) queued_ = true;
    lock_.unlock(RL_INFO);
    ring();
    return true;
  }
  void unregister(Descriptor&) {
    use_number();
    lock_.lock(RL_INFO);
    registered_ = queued_ = false;
    lock_.unlock(RL_INFO);
  }
  void close_number() {
    RL_ASSERT(times_closed++ == 0);
    number_(RL_INFO) = 0;
  }
  unsigned times_closed = 0;

  // --- the program's calls ---

  void use_number() { RL_ASSERT(number_(RL_INFO).load() != 0); }
  // Up to so many messages; 0: the end; -EAGAIN.
  int read(int most) {
    use_number();
    lock_.lock(RL_INFO);
    const int count = std::min(unread_, most);
    unread_ -= count;
    const bool at_end = hung_up_;
    lock_.unlock(RL_INFO);
    return count > 0 ? count : at_end ? 0 : -EAGAIN;
  }
  // False: EAGAIN.
  bool write() {
    use_number();
    lock_.lock(RL_INFO);
    const bool done = has_room_;
    lock_.unlock(RL_INFO);
    return done;
  }

  // --- its peer's ---

  void arrive(int messages) {
    happen([&] { unread_ += messages; });
  }
  void hang_up() {
    happen([&] { hung_up_ = true; });
  }
  void make_room() {
    happen([&] { has_room_ = true; }, os::PollEvent::kWritable);
  }

  // --- the poller's ---

  void look() {
    lock_.lock(RL_INFO);
    const std::uint32_t what = queued_ ? state() : 0;
    queued_ = by_level_ && what != 0;
    const bool again = queued_;
    lock_.unlock(RL_INFO);
    sched::RunnableList ready;
    if (what != 0) watched_->notify(watched_->sequence_, what, ready);
    if (again) ring();
  }
  // Looks whenever there is something to see, until finish().
  void serve() {
    for (;;) {
      while (bell_.exchange_acq_rel(0) == 0) {
        if (is_over_) return;
        os::futex_wait(bell_, 0);
      }
      look();
    }
  }
  void finish() {
    is_over_ = true;
    ring();
  }

 private:
  std::uint32_t state() const {
    std::uint32_t what = unread_ > 0 ? os::PollEvent::kReadable : 0;
    if (hung_up_) what |= os::PollEvent::kReadable | os::PollEvent::kClosing;
    if (has_room_ && !by_level_) what |= os::PollEvent::kWritable;
    return what;
  }
  template <class Change>
  void happen(Change change, std::uint32_t what = os::PollEvent::kReadable) {
    lock_.lock(RL_INFO);
    change();
    if (registered_ && (what & state()) != 0) queued_ = true;
    lock_.unlock(RL_INFO);
    ring();
  }
  void ring() {
    bell_.exchange_acq_rel(1);
    os::futex_wake(bell_);
  }

  Descriptor* watched_ = nullptr;
  rl::var<unsigned> number_{1};  // 0: closed
  rl::mutex lock_;               // the kernel's, over what follows
  int unread_ = 0;
  bool hung_up_ = false, has_room_ = false;
  bool registered_ = true, queued_ = false, by_level_ = false;
  base::Atom<std::uint32_t> bell_{0};
  bool is_over_ = false;  // the simulation's own knowledge
};

inline Netpoll& netpoll() { return *Netpoll::instance; }

}  // namespace weft::service
