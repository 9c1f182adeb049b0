// SPDX-License-Identifier: MIT
#include "sched/memory/stack_pool.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "base/sanitizer.h"

namespace weft::sched {
namespace {

// Why there is a limit: TSan leaves the program little address space, and emulators look at each page that is mapped.
constexpr std::size_t kMaxRegionBytes = std::size_t{WEFT_TSAN ? 1 : 64} << 30;
constexpr std::size_t kMaxCarve = 512;
constexpr std::size_t kGuardBatch = 64;  // a small array, because it lies on the stacks of goroutines
constexpr std::size_t kSharedBatch = 64;

Goroutine* chained(std::uintptr_t bits) { return reinterpret_cast<Goroutine*>(bits); }

}  // namespace

void StackPool::shape(SizeClass& size_class, std::size_t usable_bytes) noexcept {
  const std::size_t usable =
      std::clamp((usable_bytes + os::kPage - 1) & ~(os::kPage - 1), kMinStackBytes, kMaxStackBytes);
  std::size_t pages = (kGuardBytes + usable) / os::kPage;
  pages |= 1;  // odd
  size_class.stride = pages * os::kPage;
  size_class.usable = size_class.stride - kGuardBytes;
}

void StackPool::set_default_size(std::size_t usable_bytes) noexcept {
  const bool is_ample = usable_bytes == 0 && !os::is_address_space_scarce();
  if (usable_bytes == 0) usable_bytes = is_ample ? kDefaultStackBytes : kScarceStackBytes;
  shape(default_class_, usable_bytes);
  main_size_ = is_ample ? kMainStackBytes : default_class_.usable;
}

bool StackPool::SlotList::reserve(std::size_t count) noexcept {
  if (count <= capacity_) return true;
  const std::size_t capacity = std::max(count, 2 * capacity_);
  auto* slots = static_cast<std::byte**>(std::realloc(slots_, capacity * sizeof *slots_));
  if (slots == nullptr) return false;
  slots_ = slots;
  capacity_ = capacity;
  return true;
}

StackPool::SizeClass* StackPool::class_of(std::size_t usable_bytes) noexcept {
  SizeClass shaped;
  shape(shaped, usable_bytes);
  for (SizeClass* size_class = &default_class_; size_class != nullptr; size_class = size_class->next)
    if (size_class->stride == shaped.stride) return size_class;
  auto* size_class = new (std::nothrow) SizeClass(shaped);
  if (size_class == nullptr) return nullptr;
  size_class->next = default_class_.next;
  default_class_.next = size_class;
  return size_class;
}

StackPool::Region* StackPool::add_region(SizeClass& size_class) noexcept {
  // Tries smaller and smaller sizes where address space is limited (RLIMIT_AS, strict overcommit).
  for (std::size_t bytes = std::max(size_class.region_bytes, size_class.stride); bytes >= size_class.stride;
       bytes /= 2) {
    const std::size_t slots = bytes / size_class.stride;
    const std::size_t whole = slots * size_class.stride;
    void* base = os::reserve_memory(whole, "weft stacks");
    if (base == nullptr) continue;
    os::forbid_huge_pages(base, whole);  // with a huge page per stack, 500 times the memory
    auto* region = new (std::nothrow)
        Region{static_cast<std::byte*>(base), whole, size_class.stride, size_class.usable, slots, {}, nullptr};
    if (region == nullptr) {
      os::release_memory(base, whole);
      return nullptr;
    }
    region->next = regions_.load_relaxed();  // we hold lock_
    regions_.store_release(region);          // pairs: stacks.regions
    size_class.region_bytes = std::min(2 * bytes, kMaxRegionBytes);
    return region;
  }
  return nullptr;
}

bool StackPool::carve(SizeClass& size_class) noexcept {
  Region* region = size_class.region;
  if (region == nullptr || region->carved.load_relaxed() == region->slots) {
    region = add_region(size_class);
    if (region == nullptr) return false;
    size_class.region = region;
  }
  const std::size_t first = region->carved.load_relaxed();
  const std::size_t count = std::min(size_class.carve_batch, region->slots - first);
  if (!size_class.cold.reserve(size_class.slots + count)) return false;
  size_class.slots += count;
  size_class.carve_batch = std::min(size_class.carve_batch * 2, kMaxCarve);

  os::GuardKind kind = os::guard_kind();
  if (kind == os::GuardKind::kMprotect) {
    guards_by_mprotect_ += count;
    if (guards_by_mprotect_ > os::mprotect_guard_limit()) kind = os::GuardKind::kNone;
  }
  os::Range guards[kGuardBatch];
  for (std::size_t done = 0; done < count; done += kGuardBatch) {
    const std::size_t batch = std::min(kGuardBatch, count - done);
    for (std::size_t i = 0; i < batch; ++i)
      guards[i] = {region->base + (first + done + i) * region->stride, kGuardBytes};
    if (!os::install_guards({guards, batch}, kind)) unguarded_ = true;
  }

  for (std::size_t i = count; i-- > 0;) size_class.cold.push(region->base + (first + i) * region->stride);
  region->carved.store_release(first + count);  // pairs: stacks.carved
  return true;
}

Goroutine* StackPool::construct(const SizeClass& size_class, std::byte* slot, bool unguarded) noexcept {
  const Place place = find(slot + size_class.stride - 1);
  auto* g = new (place.g) Goroutine;
  g->stack_bottom = slot + kGuardBytes;
  g->stack_bytes = static_cast<std::uint32_t>(g->stack_top() - g->stack_bottom);
  g->flags =
      static_cast<std::uint8_t>((&size_class == &default_class_ ? 0 : kGOwnStack) | (unguarded ? kGUnguarded : 0));
  arch::fiber_create(g->fiber, g->stack_bottom, g->stack_bytes);
  return g;
}

Goroutine* StackPool::take_warm(SizeClass& size_class) noexcept {
  if (size_class.warm == 0) return nullptr;
  Goroutine* g = chained(size_class.warm);
  size_class.warm = g->link;
  --size_class.warm_count;
  size_class.low_water = std::min(size_class.low_water, size_class.warm_count);
  return g;
}

std::byte* StackPool::take_cold(SizeClass& size_class) noexcept {
  return size_class.cold.empty() && !carve(size_class) ? nullptr : size_class.cold.pop();
}

bool StackPool::refill(Processor& p) noexcept {
  std::byte* slot = nullptr;
  bool unguarded;
  {
    std::lock_guard guard(lock_);
    const std::size_t wanted = cacheless_ ? 1 : kSharedBatch;
    for (std::size_t i = 0; i < wanted; ++i) {
      Goroutine* g = take_warm(default_class_);
      if (g == nullptr) break;
      keep(p, g);
    }
    // Cold slots only as needed, one at a time.
    if (p.free_gs == 0) slot = take_cold(default_class_);
    unguarded = unguarded_;
  }
  if (slot != nullptr) keep(p, construct(default_class_, slot, unguarded));
  if (cacheless_) p.free_g_count = kCacheLimit + 1;  // the next give() spills
  return p.free_gs != 0;
}

void StackPool::spill(Processor& p) noexcept {
  std::lock_guard guard(lock_);
  Goroutine* newest = chained(p.free_gs);  // its stack may be under our feet
  for (std::size_t i = 0; i < kSharedBatch && newest->link != 0; ++i) {
    Goroutine* g = chained(newest->link);
    newest->link = g->link;
    g->link = default_class_.warm;
    default_class_.warm = reinterpret_cast<std::uintptr_t>(g);
    ++default_class_.warm_count;
    --p.free_g_count;
  }
  if (cacheless_) p.free_g_count = kCacheLimit;
}

void StackPool::drain(Processor& p) noexcept {
  std::lock_guard guard(lock_);
  while (p.free_gs != 0) {
    Goroutine* g = chained(p.free_gs);
    p.free_gs = g->link;
    g->link = default_class_.warm;
    default_class_.warm = reinterpret_cast<std::uintptr_t>(g);
    ++default_class_.warm_count;
  }
  p.free_g_count = 0;
}

Goroutine* StackPool::take_sized(std::size_t usable_bytes) noexcept {
  SizeClass* size_class;
  std::byte* slot;
  bool unguarded;
  {
    std::lock_guard guard(lock_);
    size_class = class_of(usable_bytes);
    if (size_class == nullptr) return nullptr;
    if (Goroutine* g = take_warm(*size_class)) return g;
    slot = take_cold(*size_class);
    unguarded = unguarded_;
  }
  return slot != nullptr ? construct(*size_class, slot, unguarded) : nullptr;
}

void StackPool::give_sized(Goroutine* g) noexcept {
  std::lock_guard guard(lock_);
  SizeClass& size_class = *class_of(g->stack_bytes);
  g->link = size_class.warm;
  size_class.warm = reinterpret_cast<std::uintptr_t>(g);
  ++size_class.warm_count;
}

void StackPool::begin_trim_interval() noexcept {
  std::lock_guard guard(lock_);
  for (SizeClass* size_class = &default_class_; size_class != nullptr; size_class = size_class->next)
    size_class->low_water = size_class->warm_count;
}

bool StackPool::trim(std::size_t limit) noexcept {
  struct Idle {
    std::byte* slot;
    std::size_t stride;
    SizeClass* size_class;
  };
  std::vector<Idle> idle;
  try {
    idle.reserve(limit);
  } catch (const std::bad_alloc&) {
    return false;  // the next interval may have more luck
  }
  bool more = false;
  {
    std::lock_guard guard(lock_);
    const auto collect = [&](SizeClass& size_class) {
      while (size_class.low_water > 0 && size_class.warm != 0 && idle.size() < limit) {
        Goroutine* g = chained(size_class.warm);
        size_class.warm = g->link;
        --size_class.warm_count;
        --size_class.low_water;
        arch::fiber_destroy(g->fiber);
        idle.push_back({g->stack_bottom - kGuardBytes, size_class.stride, &size_class});
      }
      more |= size_class.low_water > 0 && size_class.warm != 0;
    };
    for (SizeClass* size_class = &default_class_; size_class != nullptr; size_class = size_class->next)
      collect(*size_class);
  }
  std::ranges::sort(idle, {}, &Idle::slot);
  for (std::size_t first = 0; first < idle.size();) {  // neighbours go in one call, for a sixth of the price
    std::size_t end = first + 1;
    while (end < idle.size() && idle[end].slot == idle[end - 1].slot + idle[end - 1].stride) ++end;
    os::discard_pages(idle[first].slot,
                      static_cast<std::size_t>(idle[end - 1].slot + idle[end - 1].stride - idle[first].slot));
    first = end;
  }
  std::lock_guard guard(lock_);
  for (std::size_t i = idle.size(); i-- > 0;) idle[i].size_class->cold.push(idle[i].slot);
  return more;
}

StackPool::Place StackPool::find(const void* address) const noexcept {
  const auto* byte = static_cast<const std::byte*>(address);
  const Region* region = regions_.load_acquire();  // pairs: stacks.regions
  for (; region != nullptr; region = region->next) {
    if (byte < region->base || byte >= region->base + region->bytes) continue;
    const auto offset = static_cast<std::size_t>(byte - region->base);
    const std::size_t index = offset / region->stride;
    return {region->goroutine(index), offset % region->stride < kGuardBytes};
  }
  return {nullptr, false};
}

StackPool::Statistics StackPool::statistics() const noexcept {
  std::lock_guard guard(lock_);
  Statistics statistics;
  for (const Region* region = regions_.load_relaxed(); region != nullptr; region = region->next)
    statistics.slots += region->carved.load_relaxed();
  for (const SizeClass* size_class = &default_class_; size_class != nullptr; size_class = size_class->next) {
    statistics.warm += size_class->warm_count;
    statistics.cold += size_class->cold.size();
  }
  statistics.guarded = !unguarded_;
  return statistics;
}

bool StackPool::canary_intact(const Goroutine* g) noexcept {
  // Reading an untouched page maps the shared zero page, which uses no memory.
  return *reinterpret_cast<const volatile std::uint64_t*>(g->stack_bottom) == 0;
}

}  // namespace weft::sched
