// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"

// Work that other Ps have given to one P: a chain through the items' own links, newest first. Two senders: a retreating
// P (core/retreat.cc), and a waker that queues a goroutine on its last P (A53: wake place "last").
//   Invariants  I1 An item in the chain has no owner. The sender owned it before the push. The taker takes the whole
//                  chain with one exchange, and owns all of it from then on. No thread takes a single item.
//   Orders      push: link, then CAS release  --  take: exchange acquire, then links   (inbox).
//               The taker sees the link of every item, not only of the last one pushed: each CAS continues the release
//               sequences of the CASes before it.
//   Rejected    an acquire in push: the head is stored as a link, and the sender never reads what it points to.
//               tags against ABA: a head that was taken and pushed again is still a correct link, because of I1.
namespace weft::sched {

// `Links` has next(item) and set_next(item, next). T{} means no item.
template <class T, class Links, class Atomics = base::StdAtomics>
class Inbox {
 public:
  // Any thread.
  void push(T item) noexcept {
    T head = newest_.load_relaxed();  // the CAS validates it
    do Links::set_next(item, head);
    while (!newest_.cas_release(head, item));  // pairs: inbox
  }

  // Any thread: takes everything that is there, and visits the oldest first.
  template <class Visit>
  void take(Visit&& visit) noexcept {
    if (empty()) return;  // a load is cheaper than the exchange
    T item = newest_.exchange_acquire(T{});  // pairs: inbox
    T oldest{};
    while (item != T{}) {  // the chain is ours now: reverse it
      const T older = Links::next(item);
      Links::set_next(item, oldest);
      oldest = item;
      item = older;
    }
    while (oldest != T{}) {
      const T taken = oldest;
      oldest = Links::next(taken);  // before the visitor uses the link for something else
      visit(taken);
    }
  }

  bool empty() const noexcept { return newest_.load_relaxed() == T{}; }  // a hint

 private:
  typename Atomics::template atom<T> newest_{};
};

}  // namespace weft::sched
