// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"

// The batches of one P that thieves can see: fifteen slots, as in KRoC's scheduler.
//   Job         The owner shows a batch with one exchange and takes it back with one CAS. A thief takes a whole batch
//               with one exchange. It looks at each slot once, so it needs fifteen steps at most, whatever the others
//               do (wait-free).
//   Batch       has a field `slot` that the owner writes: 0 if the batch is not visible, otherwise the slot's number
//               plus one.
//   Invariants  B1 A slot holds null or one batch of the owner. Only the owner puts batches in.
//               B2 The thread whose exchange or CAS removes a batch from its slot owns the batch. Each removal reads
//                  and clears the slot in one step, so there is exactly one such thread.
//               B3 A batch is shown again, or its memory used again, only after the owner has taken it back or the
//                  thief has given it back (batch_queue.h). So between show() and take() the slot never holds the same
//                  batch for a second time, and the CAS of take() cannot mistake one for the other (no ABA).
//               B4 show() into a slot that is in use removes the old batch by the same exchange. Then the old batch is
//                  the owner's again. It only is no longer visible.
//   Orders      show: exchange acq_rel -- steal: exchange acquire   (batch_window.slot)
//               take: relaxed. Its success removes what the owner itself has written. Its failure reads nothing.
//   Rejected    KRoC's state word (a bitmap of used slots): a second locked operation for each show and take, to save
//               the thief at most fifteen loads from two cache lines.
//               A version beside the pointer: B3 makes it needless.
//   Model       tests/model/batch_queue_test.cc. Stress: batch_queue_test.cc.
namespace weft::sched {

template <class Batch, class Atomics = base::StdAtomics, std::uint32_t Slots = 15>
class BatchWindow {
 public:
  static constexpr std::uint32_t kSlots = Slots;

  // Owner. Makes the batch visible. Returns the batch whose slot it took, which is the owner's again, or null.
  Batch* show(Batch* batch) noexcept {
    const std::uint32_t newest = next(newest_.load_relaxed());
    newest_.store_relaxed(newest);  // a hint for thieves
    batch->slot = newest + 1;
    Batch* old = slots_[newest].exchange_acq_rel(batch);  // pairs: batch_window.slot
    if (old != nullptr) old->slot = 0;
    return old;
  }

  // Owner. The batch was shown. True: it is the owner's again. False: a thief has it.
  bool take(Batch* batch) noexcept {
    const std::uint32_t slot = batch->slot - 1;
    batch->slot = 0;
    Batch* expected = batch;
    return slots_[slot].cas_relaxed(expected, nullptr);
  }

  // Any thread. Takes the oldest batch that it sees. Null: none was visible when it looked.
  Batch* steal() noexcept {
    std::uint32_t slot = newest_.load_relaxed();
    for (std::uint32_t steps = 0; steps < kSlots; ++steps) {
      slot = next(slot);
      if (slots_[slot].load_relaxed() == nullptr) continue;                       // a hint: saves the locked operation
      if (Batch* stolen = slots_[slot].exchange_acquire(nullptr)) return stolen;  // pairs: batch_window.slot
    }
    return nullptr;
  }

  // Owner. Has no thief taken the batch yet?
  bool holds(const Batch* batch) const noexcept {
    return batch->slot != 0 && slots_[batch->slot - 1].load_relaxed() == batch;
  }

 private:
  static std::uint32_t next(std::uint32_t slot) noexcept { return slot + 1 == kSlots ? 0 : slot + 1; }

  template <class U>
  using Atom = typename Atomics::template atom<U>;

  Atom<std::uint32_t> newest_{0};  // written by the owner
  alignas(base::kCacheLine) Atom<Batch*> slots_[kSlots];
};

}  // namespace weft::sched
