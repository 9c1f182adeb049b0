// SPDX-License-Identifier: MIT
#pragma once
#include "base/atomic.h"

// What others have sent to one P (A53): a chain through the items' own links, newest first.
//   Invariants  I1 an item in the chain is owned by nobody. Who pushes owned it before; who takes the chain, whole and by one
//                  exchange, owns all of it. Nobody takes a single item.
//   Orders      push: link, then CAS release  --  take: exchange acquire, then links   (inbox). The taker sees every item's link, not
//               only the last one's: each CAS continues the release sequences of those before it.
//   Rejected    an acquire in push: the head is stored as the link and never looked into.
//               tags against A-B-A: a head that was taken and pushed again is a right link all the same, because of I1.
namespace weft::sched {

// Links::next(item), Links::set_next(item, next); T{} is none.
template <class T, class Links, class Atomics = base::StdAtomics>
class Inbox {
 public:
  // Anybody.
  void push(T item) noexcept {
    T head = newest_.load_relaxed();  // the CAS validates it
    do Links::set_next(item, head);
    while (!newest_.cas_release(head, item));  // pairs: inbox
  }

  // Anybody: everything that is there, oldest first.
  template <class Visit>
  void take(Visit&& visit) noexcept {
    if (empty()) return;  // a look before the exchange
    T item = newest_.exchange_acquire(T{});  // pairs: inbox
    T oldest{};
    while (item != T{}) {  // ours now: turn the chain round
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
