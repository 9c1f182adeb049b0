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
//   Layout    Slots are carved from large regions of uncommitted memory: | guard 36 KiB | usable ... | colour | G |.
//             The stride is an odd number of pages: 40 % faster switching among 500-1000 goroutines than a power of
//             two. 16 colours of 64 bytes keep the hot ends of stacks in different cache sets.
//   Size      1 MiB of address space. Only touched pages cost memory, and two stacks share a page table. Larger stacks
//             would not share one: with 4 MiB, a token through 10,000 stacks takes twice as long, and a million
//             goroutines need 4 GB of page tables (decision 0014). The goroutine of run() has 8 MiB, as a main thread.
//             Where address space is scarce, all have 256 KiB.
//   Guard     36 KiB, because libc has uninstrumented frames of up to 33 KiB. User code is compiled with stack-clash
//             protection.
//   States    A cold slot was never touched, or its pages were given back to the system. A warm slot has a dead G and
//             its pages. The Ps' caches and the chains SizeClass::warm hold warm slots, LIFO. Slots that stayed unused
//             in such a chain for a trimming interval become cold.
//   Memory    Regions are never unmapped, so a stale pointer to a dead G reads zeros or an old G, and never faults.
namespace weft::sched {

inline constexpr std::size_t kGuardBytes = 36 * 1024;
inline constexpr std::size_t kDefaultStackBytes = 1024 * 1024;
inline constexpr std::size_t kMainStackBytes = 8 * 1024 * 1024;
inline constexpr std::size_t kScarceStackBytes = 256 * 1024;  // the default where address space is scarce
inline constexpr std::size_t kMinStackBytes = 16 * 1024;
// Room below the address that compiled-in checks compare with (true_guard() in preempt.h). It is for frames without
// checks, and for the check itself, which reports overflows. ASan's frames are larger.
inline constexpr std::size_t kGuardSlack = (WEFT_ASAN ? 48 : 16) * 1024;
inline constexpr std::size_t kMaxStackBytes = std::size_t{1} << 30;

class StackPool {
 public:
  // Before the first goroutine. 0: the size that the system has room for.
  void set_default_size(std::size_t usable_bytes) noexcept;
  std::size_t default_size() const noexcept { return default_class_.usable; }
  // For the goroutine of run(). Equal to the default size if a default was set explicitly, or address space is scarce.
  std::size_t main_size() const noexcept { return main_size_; }
  // The least stack below a G with a default stack, whatever the G's colour.
  std::size_t least_room() const noexcept { return default_class_.usable - sizeof(Goroutine) - 15 * base::kCacheLine; }

  // Owner of p. Returns a dead G with a default stack. Null: no memory.
  Goroutine* take(Processor& p) noexcept {
    if (WEFT_UNLIKELY(p.free_gs == 0) && !refill(p)) return nullptr;
    auto* g = reinterpret_cast<Goroutine*>(p.free_gs);
    p.free_gs = g->link;
    --p.free_g_count;
    return g;
  }
  // The caller may stand on g's stack until it switches away. So a spill never gives away the newest G.
  void give(Processor& p, Goroutine* g) noexcept {
    keep(p, g);
    if (WEFT_UNLIKELY(p.free_g_count > kCacheLimit)) spill(p);
  }

  // Stacks of other sizes, which Ps do not cache. No thread stands on the stack of the G that is given.
  Goroutine* take_sized(std::size_t usable_bytes) noexcept;
  void give_sized(Goroutine* g) noexcept;

  void drain(Processor& p) noexcept;
  // For the ladder of the benchmarks: every take and give goes to the shared list. Before the first goroutine.
  void keep_no_caches() noexcept { cacheless_ = true; }

  // Gives the memory of at most `limit` stacks back to the system, of those that were not used since
  // begin_trim_interval(). True: there is more to do.
  bool trim(std::size_t limit) noexcept;
  void begin_trim_interval() noexcept;

  // The G whose stack or guard has this address. Null: none. Async-signal-safe.
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

  // The memory of all stacks: visit(begin, end).
  template <class F>
  void for_each_region(F&& visit) const {
    const Region* region = regions_.load_acquire();  // pairs: stacks.regions
    for (; region != nullptr; region = region->next) visit(region->base, region->base + region->bytes);
  }

  struct Statistics {
    std::size_t slots = 0, warm = 0, cold = 0;
    bool guarded = true;
  };
  Statistics statistics() const noexcept;

  // For unguarded slots only. False: the end of the stack has been written, so the stack overflowed.
  static bool canary_intact(const Goroutine* g) noexcept;

 private:
  static constexpr std::uint32_t kCacheLimit = 128;

  // Constant-initialised and never destroyed, as the whole pool, because goroutines exist before and after main.
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
    Region* region = nullptr;  // the region that is being carved
    SlotList cold;             // its capacity suffices for all slots of this class
    std::size_t slots = 0;     // carved so far
    std::uintptr_t warm = 0;   // chain of dead Gs
    std::size_t warm_count = 0;
    std::size_t low_water = 0;  // least warm_count in this trimming interval
    std::size_t carve_batch = 8;
    std::size_t region_bytes = std::size_t{1} << 30;  // of the next region; doubles, so that find() passes few
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
  // Never under lock_, because it touches the stack's first page, which is most of what a new goroutine costs.
  Goroutine* construct(const SizeClass& size_class, std::byte* slot, bool unguarded) noexcept;
  SizeClass* class_of(std::size_t usable_bytes) noexcept;  // under lock_; null: no memory for a new one
  static void shape(SizeClass& size_class, std::size_t usable_bytes) noexcept;

  mutable os::RankedMutex<base::Rank::kStacks> lock_;
  bool cacheless_ = false;
  std::size_t main_size_ = 0;
  SizeClass default_class_;  // the classes of other sizes follow by next
  base::Atom<Region*> regions_{nullptr};
  std::size_t guards_by_mprotect_ = 0;
  bool unguarded_ = false;
};

}  // namespace weft::sched
