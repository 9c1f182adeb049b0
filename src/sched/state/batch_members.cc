// SPDX-License-Identifier: MIT
#include "sched/state/batch_members.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "os/memory.h"
#include "sched/model/hooks.h"
#include "sched/state/scheduler.h"

namespace weft::sched {

constinit BatchMembers batch_members;

namespace {

class Guard {
 public:
  explicit Guard(os::SpinLock& lock) noexcept : lock_(lock) { lock_.lock_unranked(); }
  ~Guard() { lock_.unlock_unranked(); }
  Guard(const Guard&) = delete;

 private:
  os::SpinLock& lock_;
};

bool is_by_channel(WaitReason reason) noexcept {
  return reason == WaitReason::kChanSend || reason == WaitReason::kChanReceive || reason == WaitReason::kSelect;
}

}  // namespace

void BatchMembers::met(Processor& p, Goroutine* waker, Goroutine* woken, std::uint32_t times) noexcept {
  // Still on its way out of another thread, which may be using its flags.
  if (woken->sp.load_acquire() == nullptr) return;  // pairs: goroutine.sp
  if (!is_by_channel(woken->wait_reason) || waker == woken) return;
  const std::uint32_t batch = batch_of(woken);
  if (WEFT_UNLIKELY(batch == 0 || batch != batch_of(waker))) return met_stranger(p, waker, woken, times);
  if (woken->batch_loyalty < kMostLoyal) ++woken->batch_loyalty;
  Record& record = own_record(batch);
  if (record.processor.load_relaxed() != p.id) record.processor.store_relaxed(p.id);
  const std::uint64_t meetings = record.meetings.load_relaxed();
  record.meetings.store_relaxed(meetings + times);
  if (meetings < kAlwaysLooks || (meetings & 7) == 0) note_channel(record, woken);
}

// One of the two has no batch, or they have different ones.
__attribute__((noinline)) void BatchMembers::met_stranger(Processor& p, Goroutine* waker, Goroutine* woken,
                                                          std::uint32_t times) noexcept {
  char name[kNameBytes];
  if (hooks.tell_meeting(woken, name, sizeof name) == nullptr) return;  // a timer's channel, perhaps
  Guard guard(lock_);
  std::uint32_t ours = batch_of(waker), theirs = batch_of(woken);
  if (ours == 0 && theirs == 0) {
    ours = make_locked();
    if (ours == 0 || !join_locked(p, waker, ours)) return;
  }
  if (theirs == 0) {
    if (!join_locked(p, woken, ours)) return;
  } else if (ours == 0) {
    if (!join_locked(p, waker, theirs)) return;
    ours = theirs;
  } else {
    Goroutine* mover = woken;
    const std::uint32_t our_size = own_record(ours).members.load_relaxed();
    const std::uint32_t their_size = own_record(theirs).members.load_relaxed();
    if (our_size < their_size || (our_size == their_size && ours > theirs)) {
      std::swap(ours, theirs);
      mover = waker;
    }
    if (mover->batch_loyalty > 0) {
      --mover->batch_loyalty;
      return;
    }
    if (own_record(ours).members.load_relaxed() >= kMost) return;
    leave_locked(mover, theirs);
    join_locked(p, mover, ours);
  }
  Record& record = own_record(ours);
  record.processor.store_relaxed(p.id);
  record.meetings.store_relaxed(record.meetings.load_relaxed() + times);
  note_channel(record, woken);
}

// A batch's channels are few, and change seldom. A full list keeps the first ones.
void BatchMembers::note_channel(Record& batch, const Goroutine* woken) noexcept {
  const void* object = woken->wait_reason == WaitReason::kSelect ? nullptr : woken->wait_object;
  std::uint32_t known = 0;
  for (; known < kChannels; ++known) {
    const void* channel = batch.channels[known].load_relaxed();
    if (channel == nullptr) break;
    if (channel == object) return;
  }
  if (known == kChannels) return;
  char name[kNameBytes];
  object = hooks.tell_meeting(woken, name, sizeof name);
  if (object == nullptr) return;
  // Two Ps may add at once. The CAS decides who has the place, and the other one comes again.
  for (std::uint32_t i = 0; i < known; ++i)
    if (batch.channels[i].load_relaxed() == object) return;
  const void* nothing = nullptr;
  if (!batch.channels[known].cas_relaxed(nothing, object)) return;
  std::memcpy(batch.names[known], name, sizeof name);
}

void BatchMembers::leave_batch(Goroutine* g, std::uint32_t batch) noexcept {
  Guard guard(lock_);
  leave_locked(g, batch);
}

bool BatchMembers::join_locked(Processor& p, Goroutine* g, std::uint32_t batch) noexcept {
  Record& record = own_record(batch);
  const std::uint32_t members = record.members.load_relaxed();
  if (members >= kMost) return false;
  record.members.store_relaxed(members + 1);
  write(g, batch, 1);
  g->flags |= kGDetails;
  p.counters.bump(Counter::kBatchJoins);
  return true;
}

void BatchMembers::leave_locked(Goroutine* g, std::uint32_t batch) noexcept {
  write(g, 0, 0);
  Record& record = own_record(batch);
  const std::uint32_t members = record.members.load_relaxed() - 1;
  record.members.store_relaxed(members);
  if (members > 0) return;
  record.next_free = free_;
  free_ = batch;
  count_.store_relaxed(count_.load_relaxed() - 1);
}

// 0: no memory, or too many.
std::uint32_t BatchMembers::make_locked() noexcept {
  if (free_ == 0 && !add_chunk_locked()) return 0;
  const std::uint32_t batch = free_;
  Record& record = own_record(batch);
  free_ = record.next_free;
  record.id = next_id_++;
  record.meetings.store_relaxed(0);
  for (auto& channel : record.channels) channel.store_relaxed(nullptr);
  count_.store_relaxed(count_.load_relaxed() + 1);
  return batch;
}

bool BatchMembers::add_chunk_locked() noexcept {
  if (made_ == std::size(chunks_)) return false;
  void* memory = os::reserve_permanent_memory(sizeof(Record) * kChunk, "weft batch members");
  if (memory == nullptr) return false;
  auto* records = static_cast<Record*>(memory);
  const std::uint32_t first = made_ * kChunk;
  for (std::uint32_t i = kChunk; i-- > 0;) {
    if (first + i == 0) continue;  // number 0 means none
    new (&records[i]) Record;
    records[i].next_free = free_;
    free_ = first + i;
  }
  chunks_[made_].store_release(records);  // pairs: batch_members.chunk
  ++made_;
  return true;
}

}  // namespace weft::sched
