// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <memory>
#include <optional>

#include "sched/wait/waiter.h"
#include "weft/detail/happens_before.h"
#if WEFT_TELLS_TSAN
#include "arch/fiber_sanitizer.h"
#endif

// What TSan is told of a channel, as Go's memory model promises it: send k comes before receive k, receive k before the
// end of send k + capacity, a close before the receive that sees it. Two sends into free places are in no order.
//   Buffered    Each place in the buffer is a token: each use of the place comes after the use before.
//   Handed over Directly, past the buffer: as if through the place whose turn it is. The waiter released a ticket when
//               it queued, because it cannot act while it sleeps. Its partner must not acquire the ticket, because no
//               order is promised to the partner. The next user of the place acquires it. When the waiter wakes up, it
//               acquires the place.
//   Elements    Moved by the waiter's partner, which is in no order with the waiter. So TSan does not look
//               (arch::FiberUnwatched).
//   Unbuffered  Both sides meet: each comes after the other. The waiter itself is the token.
//   Lock        All functions but woken() are called with the channel's lock held, or by the only thread that knows the
//               waiter.
// In other builds the functions and the object are empty.
namespace weft::detail {

#if WEFT_TELLS_TSAN

class ChanOrder {
 public:
  explicit ChanOrder(std::size_t capacity)
      : capacity_(capacity), places_(capacity == 0 ? 0 : capacity <= kMostPlaces ? capacity : 1) {
    [[maybe_unused]] const arch::FiberUnwatched own;
    if (places_ > 0) place_ = std::make_unique<Place[]>(places_);
  }
  bool is_buffered() const noexcept { return capacity_ != 0; }

  // Around each use of a place by its user.
  void before_use(std::size_t index) noexcept {
    Place& place = at(index);
    order_acquire(&place.word);
    if (place.follows != nullptr) order_acquire(place.follows);
    place.follows = nullptr;
  }
  void after_use(std::size_t index) noexcept { order_release(&at(index).word); }
  // The sleeping partner is the next user of the place.
  void use_by(std::size_t index, sched::Waiter& partner) noexcept {
    Place& place = at(index);
    place.follows = partner.ticket;
    partner.ticket = &place.word;
  }

  // The caller is about to wait.
  void queues(sched::Waiter& waiter) noexcept {
    waiter.ticket = is_buffered() ? &at(next_ticket_++).ticket : static_cast<const void*>(&waiter);
    order_release(waiter.ticket);
  }
  // The caller has been woken, and was given what it waited for.
  static void woken(const sched::Waiter& waiter) noexcept { order_acquire(waiter.ticket); }

  // Unbuffered: before and after the element is moved.
  void meets(const sched::Waiter& partner) const noexcept {
    if (!is_buffered()) order_acquire(partner.ticket);
  }
  void has_met(const sched::Waiter& partner) const noexcept {
    if (!is_buffered()) order_release(partner.ticket);
  }

 private:
  // Larger buffers share one place, which orders too much rather than too little.
  static constexpr std::size_t kMostPlaces = std::size_t{1} << 16;
  struct Place {
    char word = 0, ticket = 0;       // only their addresses count
    const void* follows = nullptr;  // a ticket
  };
  Place& at(std::size_t index) const noexcept { return place_[index % places_]; }

  std::size_t capacity_, places_;
  std::size_t next_ticket_ = 0;
  std::unique_ptr<Place[]> place_;
};

// While it lives, the caller moves an element for or from a sleeping partner.
class OfSleeper {
 public:
  explicit OfSleeper(const ChanOrder& order) noexcept {
    if (order.is_buffered()) unwatched_.emplace();
  }

 private:
  std::optional<arch::FiberUnwatched> unwatched_;
};

#else

class ChanOrder {
 public:
  explicit ChanOrder(std::size_t) noexcept {}
  static void before_use(std::size_t) noexcept {}
  static void after_use(std::size_t) noexcept {}
  static void use_by(std::size_t, sched::Waiter&) noexcept {}
  static void queues(sched::Waiter&) noexcept {}
  static void woken(const sched::Waiter&) noexcept {}
  static void meets(const sched::Waiter&) noexcept {}
  static void has_met(const sched::Waiter&) noexcept {}
};
struct OfSleeper {
  explicit OfSleeper(const ChanOrder&) noexcept {}
};

#endif

}  // namespace weft::detail
