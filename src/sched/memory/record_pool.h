// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "os/ranked_mutex.h"
#include "sched/model/processor.h"

// Memory of spawn records. Each P has magazines of 256 records, and exchanges whole magazines with a shared list.
//   Why magazines   A record is often freed on another P than it was taken from. To move records back one by one costs
//                   a locked operation each. (Spawning a million goroutines on two Ps: 281 ns each without this return
//                   path, 21 ns with it.)
//   Single records  come from threads without a P, and from the magazine of a P that disappears. They fill one
//                   magazine, which joins the full ones as soon as it is full. So fewer than kMagazine free records are
//                   ever out of the Ps' reach, and memory does not grow with changes of maxprocs or with what plain
//                   threads give back.
namespace weft::sched {

inline constexpr std::uint32_t kMagazine = 256;

// The closure of a free record names the record that will be taken kLookahead takes later, so that take() can prefetch
// it. (Along the links alone, each record would have to arrive before the next one could be fetched.) A hint: after
// gives and takes have alternated, it may name any record.
inline SpawnRecord* coming_after(const SpawnRecord* free) noexcept {
  SpawnRecord* later;
  std::memcpy(&later, free->closure + sizeof later, sizeof later);
  return later;
}
inline void set_coming_after(SpawnRecord* free, SpawnRecord* later) noexcept {
  std::memcpy(free->closure + sizeof later, &later, sizeof later);
}

class RecordPool {
 public:
  // Owner of p. Null: the system gives no more memory.
  SpawnRecord* take([[maybe_unused]] Processor& p) noexcept {
#if WEFT_TSAN_USERS
    return take_shared();
#else
    SpawnRecord* record = p.records;
    if (WEFT_UNLIKELY(record == nullptr)) {
      if (!refill(p)) return nullptr;
      record = p.records;
    }
    p.records = reinterpret_cast<SpawnRecord*>(record->link);
    __builtin_prefetch(coming_after(record), 1);  // after a burst, free records are in no cache
    --p.record_count;
    arch::fiber_acquire(record);  // its last user is done with it
    return record;
#endif
  }
  void give([[maybe_unused]] Processor& p, SpawnRecord* record) noexcept {
#if WEFT_TSAN_USERS
    give_shared(record);
#else
    arch::fiber_release(record);
    if (WEFT_UNLIKELY(p.record_count == kMagazine)) spill(p);  // not earlier: a full one serves the next take, too
    record->link = reinterpret_cast<std::uintptr_t>(p.records);
    p.records = record;
    SpawnRecord*& earlier = p.recent_records[p.record_count++ % kLookahead];
    set_coming_after(record, earlier);
    earlier = record;
#endif
  }

  // Threads without a P.
  SpawnRecord* take_shared() noexcept;
  void give_shared(SpawnRecord* record) noexcept;

  // For the ladder of the benchmarks: every take and give goes to the shared list. Before the first goroutine.
  void keep_no_caches() noexcept { cacheless_ = true; }

  // For a P that disappears: its magazines go to the shared list.
  void drain(Processor& p) noexcept;

  // For a search in a forked copy, where nothing changes and a lock may never become free.
  template <class F>
  void for_each_slab_unlocked(F&& visit) const noexcept {
    for (std::size_t i = 0; i < slab_count_; ++i) visit(slabs_[i].begin, slabs_[i].end);
  }
  // The first record of each shared chain of free ones.
  template <class F>
  void for_each_shared_chain_unlocked(F&& visit) const noexcept {
    for (const SpawnRecord* magazine = full_; magazine != nullptr;) {
      visit(magazine);
      std::memcpy(&magazine, magazine->closure, sizeof magazine);
    }
    if (loose_ != nullptr) visit(loose_);
  }

  std::size_t bytes_reserved() const noexcept { return reserved_; }

  // Visits the memory of all records, free ones included. Only while the world is stopped.
  template <class F>
  void for_each_slab(F&& visit) noexcept {
#if WEFT_TSAN_USERS
    for (const Watched* one = watched_.next; one != &watched_; one = one->next)
      visit(reinterpret_cast<const std::byte*>(one->record), reinterpret_cast<const std::byte*>(one->record + 1));
#endif
    lock_.lock();
    const std::size_t count = slab_count_;
    lock_.unlock();
    for (std::size_t i = 0; i < count; ++i) visit(slabs_[i].begin, slabs_[i].end);
  }

 private:
  bool refill(Processor& p) noexcept;
  void spill(Processor& p) noexcept;
  // Under lock_.
  SpawnRecord* carve_magazine() noexcept;
  SpawnRecord* take_magazine() noexcept;
  void add_full(SpawnRecord* magazine) noexcept;
  void add_loose(SpawnRecord* record) noexcept;

  os::RankedMutex<base::Rank::kRecords> lock_;
  bool cacheless_ = false;
  SpawnRecord* full_ = nullptr;   // magazines; a free record's closure holds the link to the next one
  SpawnRecord* loose_ = nullptr;  // the magazine that single records fill
  std::uint32_t loose_count_ = 0;  // < kMagazine, except inside take_shared(), under the lock
  std::byte* slab_ = nullptr;
  std::size_t slab_left_ = 0;
  std::size_t reserved_ = 0;
  static constexpr std::size_t kMaxSlabs = 16384;  // half a billion records
  struct Slab {
    const std::byte* begin;
    const std::byte* end;
  };
  // Apart from the pool, which the scheduler contains: beside members that do not start as zeros, this table would make
  // every program 256 KB larger. So there is one pool in a process (tests: one at a time).
  static inline constinit Slab slabs_[kMaxSlabs] = {};
  std::size_t slab_count_ = 0;

#if WEFT_TSAN_USERS
  // Closures are built and run by the user's code. TSan would report a race between two closures that used the same
  // record one after the other, unless the memory was freed in between. So each record comes from malloc, and a ring of
  // records takes the place of the slabs.
  struct Watched {
    Watched *previous = this, *next = this;
    SpawnRecord* record = nullptr;
  };
  Watched watched_;
#endif
};

}  // namespace weft::sched
