// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "base/sanitizer.h"
#include "os/memory.h"
#include "os/ranked_mutex.h"
#include "sched/model/goroutine.h"
#include "sched/model/processor.h"

// Goroutine stacks, each with its G at the top.
//   Layout    slots carved from large unreserved regions: | guard 36 KiB | usable ... | colour | G |. The stride is an odd
//             number of pages (40 % faster switching among 500-1000 goroutines than a power of two), 16 colours of 64 bytes
//             keep the hot ends of stacks in different cache sets.
//   Size      1 MiB of address space: only what is touched costs memory, and two stacks share a page table. Larger ones would
//             not: a token through 10,000 stacks takes twice as long with 4 MiB, and a million goroutines need 4 GB of page
//             tables (decision 0014). The goroutine of run() has the 8 MiB of a main thread. Where address space is scarce,
//             256 KiB for all.
//   Guard     36 KiB: libc has uninstrumented frames of up to 33 KiB; user code is compiled with stack-clash protection.
//   States    cold: never touched, or given back to the system; warm: a dead G whose pages are there. P caches and shared_
//             hold warm ones, LIFO. What stayed unused in shared_ for a trimming interval becomes cold.
//   Memory    regions are never unmapped, so a stale pointer to a dead G reads zeros or an old G, and never faults.
namespace weft::sched {

inline constexpr std::size_t kGuardBytes = 36 * 1024;
inline constexpr std::size_t kDefaultStackBytes = 1024 * 1024;
inline constexpr std::size_t kMainStackBytes = 8 * 1024 * 1024;
inline constexpr std::size_t kScarceStackBytes = 256 * 1024;  // the default where address space is scarce
inline constexpr std::size_t kMinStackBytes = 16 * 1024;
// Below the checks' guard: frames without checks, and the check itself, which reports overflows. ASan's frames are larger.
inline constexpr std::size_t kGuardSlack = (WEFT_ASAN ? 48 : 16) * 1024;
inline constexpr std::size_t kMaxStackBytes = std::size_t{1} << 30;

class StackPool {
 public:
  // Before the first goroutine. 0: what the system has room for.
  void set_default_size(std::size_t usable_bytes) noexcept;
  std::size_t default_size() const noexcept { return default_class_.usable; }
  // Of the goroutine of run(). The same as the default where that was asked for, or address space is scarce.
  std::size_t main_size() const noexcept { return main_size_; }
  // From a G with a default stack, whatever its colour, at least so much is its stack's.
  std::size_t least_room() const noexcept { return default_class_.usable - sizeof(Goroutine) - 15 * base::kCacheLine; }

  // Owner of p. A dead G with a default stack; null: no memory.
  Goroutine* take(Processor& p) noexcept {
    if (WEFT_UNLIKELY(p.free_gs == 0) && !refill(p)) return nullptr;
    auto* g = reinterpret_cast<Goroutine*>(p.free_gs);
    p.free_gs = g->link;
    --p.free_g_count;
    return g;
  }
  // The caller may be standing on g's stack until it switches away: a spill never gives away the newest.
  void give(Processor& p, Goroutine* g) noexcept {
    keep(p, g);
    if (WEFT_UNLIKELY(p.free_g_count > kCacheLimit)) spill(p);
  }

  // Stacks of other sizes: not cached on Ps. Nobody stands on g's stack.
  Goroutine* take_sized(std::size_t usable_bytes) noexcept;
  void give_sized(Goroutine* g) noexcept;

  void drain(Processor& p) noexcept;
  // Before the first goroutine: every take and give goes to the shared list (the ladder of the benchmarks).
  void keep_no_caches() noexcept { cacheless_ = true; }

  // Gives back the memory of stacks unused since the last call; at most `limit` of them. True: there is more to do.
  bool trim(std::size_t limit) noexcept;
  void begin_trim_interval() noexcept;

  // Whose guard (or stack) is this address in? Async-signal-safe. Null: nobody's.
  struct Place {
    Goroutine* g;
    bool in_guard;
  };
  Place find(const void* address) const noexcept;

  // Every G that exists, dead ones included.
  template <class F>
  void for_each(F&& visit) const {
    const Region* region = regions_.load_acquire();  // pairs: stacks.regions
    for (; region != nullptr; region = region->next) {
      const std::size_t carved = region->carved.load_acquire();  // pairs: stacks.carved
      for (std::size_t i = 0; i < carved; ++i) visit(region->goroutine(i));
    }
  }

  struct Statistics {
    std::size_t slots = 0, warm = 0, cold = 0;
    bool guarded = true;
  };
  Statistics statistics() const noexcept;

  // Unguarded slots only: has the end of the stack been written?
  static bool canary_intact(const Goroutine* g) noexcept;

 private:
  static constexpr std::uint32_t kCacheLimit = 128;

  // Constant-initialised and never destroyed, as all of the pool: goroutines exist before and after main.
  class SlotList {
   public:
    bool empty() const noexcept { return count_ == 0; }
    std::size_t size() const noexcept { return count_; }
    bool reserve(std::size_t count) noexcept;  // false: no memory
    void push(std::byte* slot) noexcept { slots_[count_++] = slot; }
    std::byte* pop() noexcept { return slots_[--count_]; }

   private:
    std::byte** slots_ = nullptr;
    std::size_t count_ = 0, capacity_ = 0;
  };

  struct Region;
  struct SizeClass {
    std::size_t usable = 0;
    std::size_t stride = 0;
    Region* region = nullptr;  // the one being carved
    SlotList cold;             // has room for all slots of this class
    std::size_t slots = 0;     // carved so far
    std::uintptr_t warm = 0;   // chain of dead Gs
    std::size_t warm_count = 0;
    std::size_t low_water = 0;  // least warm_count in this trimming interval
    std::size_t carve_batch = 8;
    std::size_t region_bytes = std::size_t{1} << 30;  // of the next one: they double, so that find() passes few
    SizeClass* next = nullptr;
  };
  struct Region {
    std::byte* base;
    std::size_t bytes, stride, usable, slots;
    base::Atom<std::size_t> carved{0};
    Region* next = nullptr;
    Goroutine* goroutine(std::size_t index) const noexcept {
      return reinterpret_cast<Goroutine*>(base + (index + 1) * stride - sizeof(Goroutine) -
                                          (index % 16) * base::kCacheLine);
    }
  };

  bool refill(Processor& p) noexcept;
  void spill(Processor& p) noexcept;
  static void keep(Processor& p, Goroutine* g) noexcept {
    g->link = p.free_gs;
    p.free_gs = reinterpret_cast<std::uintptr_t>(g);
    ++p.free_g_count;
  }
  static Goroutine* take_warm(SizeClass& size_class) noexcept;  // under lock_; null: there is none
  std::byte* take_cold(SizeClass& size_class) noexcept;         // under lock_; null: no memory
  bool carve(SizeClass& size_class) noexcept;                   // under lock_
  Region* add_region(SizeClass& size_class) noexcept;           // under lock_
  // Touches the stack's first page, which is most of what a new goroutine costs: never under lock_.
  Goroutine* construct(const SizeClass& size_class, std::byte* slot, bool unguarded) noexcept;
  SizeClass* class_of(std::size_t usable_bytes) noexcept;  // under lock_; null: no memory for a new one
  static void shape(SizeClass& size_class, std::size_t usable_bytes) noexcept;

  mutable os::RankedMutex<base::Rank::kStacks> lock_;
  bool cacheless_ = false;
  std::size_t main_size_ = 0;
  SizeClass default_class_;  // and those of other sizes, by next
  base::Atom<Region*> regions_{nullptr};
  std::size_t guards_by_mprotect_ = 0;
  bool unguarded_ = false;
};

}  // namespace weft::sched
