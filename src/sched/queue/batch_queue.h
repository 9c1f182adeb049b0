// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <utility>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "sched/queue/batch_window.h"

// The batches of one P in the order in which they run, and the memory of their headers.
//   Job         The owner queues contents (a list of goroutines) as a batch, visible to thieves or not, and takes the
//               oldest batch. A thief takes the contents of a visible batch, always all of them.
//   Invariants  Q1 Each header is on exactly one of these lists of the owner: a queue (Fifo), the laundry, the free
//                  list. Thieves never change a list.
//               Q2 A thief that has a batch copies its contents and then writes `returned`. Until then the header is
//                  on a queue or in the laundry, and the owner touches only its link. So the contents are never
//                  written by two threads.
//               Q3 The owner finds out that a batch was stolen when the batch comes to the front. Then the header goes
//                  into the laundry, and from there to the free list once `returned` is set. This is B3 of
//                  batch_window.h.
//   Orders      returned: store release -- load acquire   (batch.returned)
//               What the thief copied out must not be overwritten by the owner's next use of the header.
//   Rejected    headers that belong to the thief after a steal (KRoC copies, too): they would gather where most is
//               stolen, and the owner's queue would hold a link that another thread writes.
namespace weft::sched {

template <class Contents, class Atomics = base::StdAtomics>
struct alignas(base::kCacheLine) BatchHeader {
  Contents contents{};
  BatchHeader* next = nullptr;  // owner
  std::uint32_t slot = 0;       // owner (batch_window.h)
  typename Atomics::template atom<bool> returned{false};
};

template <class Contents, class Atomics = base::StdAtomics, std::uint32_t Slots = 15>
class BatchQueue {
 public:
  using Header = BatchHeader<Contents, Atomics>;

  // Batches in order. Owner.
  class Fifo {
   public:
    Fifo() = default;
    Fifo(const Fifo&) = delete;
    Fifo& operator=(const Fifo&) = delete;
    bool empty() const noexcept { return first_ == nullptr; }
    Header* first() const noexcept { return first_; }
    void append(Fifo& other) noexcept {
      if (other.empty()) return;
      *end_ = other.first_;
      end_ = other.end_;
      other.first_ = nullptr;
      other.end_ = &other.first_;
    }

   private:
    friend class BatchQueue;
    void push(Header* header) noexcept {
      header->next = nullptr;
      *end_ = header;
      end_ = &header->next;
    }
    Header* pop() noexcept {
      Header* const front = first_;
      if (front == nullptr) return nullptr;
      first_ = front->next;
      if (first_ == nullptr) end_ = &first_;
      return front;
    }
    Header* first_ = nullptr;
    Header** end_ = &first_;
  };

  // --- owner: memory ---
  void give_header(Header* header) noexcept {
    header->next = free_;
    free_ = header;
  }
  // False: the caller gives a header first.
  bool has_header() noexcept {
    if (free_ == nullptr) recycle_one();
    return free_ != nullptr;
  }

  // --- owner: batches ---
  // has_header() was true. Returns the queued batch, which is not visible.
  Header* push(Fifo& fifo, Contents contents) noexcept {
    Header* const header = free_;
    free_ = header->next;
    header->contents = std::move(contents);
    header->returned.store_relaxed(false);  // published by show()
    fifo.push(header);
    return header;
  }
  // The batch is on a queue and not visible. Returns the batch that is no longer visible for it, or null.
  Header* show(Header* header) noexcept { return window_.show(header); }

  // Takes the oldest batch that no thief has taken. `was_visible` says whether thieves could see it. False: there is
  // none.
  bool pop(Fifo& fifo, Contents& out, bool& was_visible) noexcept {
    while (Header* const header = fifo.pop()) {
      was_visible = header->slot != 0;
      if (was_visible && !window_.take(header)) {
        laundry_.push(header);
        continue;
      }
      out = std::move(header->contents);
      give_header(header);
      recycle_one();
      return true;
    }
    return false;
  }

  // Any order. While no thief is at work.
  template <class Visit>
  void for_each(const Fifo& fifo, Visit&& visit) const {
    for (const Header* header = fifo.first_; header != nullptr; header = header->next)
      if (header->slot == 0 || window_.holds(header)) visit(header->contents);
  }

  // --- any thread ---
  // Takes the contents of a visible batch. False: none was visible.
  bool steal(Contents& out) noexcept {
    Header* const header = window_.steal();
    if (header == nullptr) return false;
    out = std::move(header->contents);
    header->returned.store_release(true);  // pairs: batch.returned
    return true;
  }

 private:
  void recycle_one() noexcept {
    if (laundry_.empty() || !laundry_.first_->returned.load_acquire()) return;  // pairs: batch.returned
    give_header(laundry_.pop());
  }

  Header* free_ = nullptr;
  Fifo laundry_;
  BatchWindow<Header, Atomics, Slots> window_;
};

}  // namespace weft::sched
