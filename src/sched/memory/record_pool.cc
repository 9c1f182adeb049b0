// SPDX-License-Identifier: MIT
#include "sched/memory/record_pool.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "os/memory.h"

namespace weft::sched {
namespace {

constexpr std::size_t kFirstSlab = 256 * 1024;  // a small program stays small
constexpr std::size_t kSlab = 2 * 1024 * 1024;  // later slabs are one huge page each
constexpr std::size_t kMagazineBytes = kMagazine * sizeof(SpawnRecord);

SpawnRecord* next_magazine(const SpawnRecord* magazine) {
  SpawnRecord* next;
  std::memcpy(&next, magazine->closure, sizeof next);
  return next;
}
void set_next_magazine(SpawnRecord* magazine, SpawnRecord* next) { std::memcpy(magazine->closure, &next, sizeof next); }
SpawnRecord* link(const SpawnRecord* record) { return reinterpret_cast<SpawnRecord*>(record->link); }

std::byte* reserve_slab(std::size_t bytes) {
  if (bytes == kFirstSlab) return static_cast<std::byte*>(os::reserve_permanent_memory(bytes, "weft records"));
  // Twice the size, so that an aligned huge page fits; the rest is released again.
  auto* raw = static_cast<std::byte*>(os::reserve_memory(2 * bytes, "weft records"));
  if (raw == nullptr) return nullptr;
  auto* aligned = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(raw) + bytes - 1) & ~(bytes - 1));
  if (aligned > raw) os::release_memory(raw, static_cast<std::size_t>(aligned - raw));
  if (aligned < raw + bytes) os::release_memory(aligned + bytes, static_cast<std::size_t>(raw + bytes - aligned));
  os::advise_huge_pages(aligned, bytes);
  os::show_to_leak_checkers(aligned, bytes);  // closures hold pointers into the heap
  return aligned;
}

}  // namespace

SpawnRecord* RecordPool::carve_magazine() noexcept {
  if (slab_left_ < kMagazineBytes) {
    const std::size_t bytes = reserved_ == 0 ? kFirstSlab : kSlab;
    std::byte* slab = slab_count_ < kMaxSlabs ? reserve_slab(bytes) : nullptr;
    if (slab == nullptr) return nullptr;
    slabs_[slab_count_++] = {slab, slab + bytes};
    slab_ = slab;
    slab_left_ = bytes;
    reserved_ += bytes;
  }
  auto* records = reinterpret_cast<SpawnRecord*>(slab_);
  slab_ += kMagazineBytes;
  slab_left_ -= kMagazineBytes;
  for (std::uint32_t i = 0; i < kMagazine; ++i) {
    new (&records[i]) SpawnRecord;
    records[i].link = i + 1 < kMagazine ? reinterpret_cast<std::uintptr_t>(&records[i + 1]) : 0;
    set_coming_after(&records[i], &records[std::min(i + kLookahead, kMagazine - 1)]);
  }
  return records;
}

SpawnRecord* RecordPool::take_magazine() noexcept {
  SpawnRecord* magazine = full_;
  if (magazine == nullptr) return carve_magazine();
  full_ = next_magazine(magazine);
  return magazine;
}

void RecordPool::add_full(SpawnRecord* magazine) noexcept {
  set_next_magazine(magazine, full_);
  full_ = magazine;
}

void RecordPool::add_loose(SpawnRecord* record) noexcept {
  record->link = reinterpret_cast<std::uintptr_t>(loose_);
  loose_ = record;
  if (++loose_count_ < kMagazine) return;
  add_full(loose_);
  loose_ = nullptr;
  loose_count_ = 0;
}

bool RecordPool::refill(Processor& p) noexcept {
  if (cacheless_) {  // the count is set such that the next give() spills
    p.records = take_shared();
    p.record_count = kMagazine + 1;
    if (p.records != nullptr) p.records->link = 0;
    return p.records != nullptr;
  }
  if (p.spare_records != nullptr) {
    p.records = p.spare_records;
    p.spare_records = nullptr;
    p.record_count = kMagazine;
    return true;
  }
  std::lock_guard guard(lock_);
  p.records = take_magazine();
  p.record_count = kMagazine;
  if (p.records != nullptr) return true;
  p.records = std::exchange(loose_, nullptr);  // the last free records there are
  p.record_count = std::exchange(loose_count_, 0);
  return p.records != nullptr;
}

void RecordPool::spill(Processor& p) noexcept {
  if (cacheless_) {
    drain(p);
    p.record_count = kMagazine - 1;
    return;
  }
  if (p.spare_records != nullptr) {
    std::lock_guard guard(lock_);
    add_full(p.spare_records);
  }
  p.spare_records = p.records;
  p.records = nullptr;
  p.record_count = 0;
}

#if WEFT_TSAN_USERS

SpawnRecord* RecordPool::take_shared() noexcept {
  static_assert(sizeof(Watched) <= sizeof(SpawnRecord));
  void* memory;
  {
    [[maybe_unused]] const arch::FiberUnwatched forgets_accesses;
    memory = std::aligned_alloc(alignof(SpawnRecord), 2 * sizeof(SpawnRecord));
  }
  if (memory == nullptr) return nullptr;
  auto* watched = ::new (memory) Watched;
  watched->record = reinterpret_cast<SpawnRecord*>(static_cast<std::byte*>(memory) + sizeof(SpawnRecord));
  std::lock_guard guard(lock_);
  watched->previous = &watched_;
  watched->next = watched_.next;
  watched_.next->previous = watched;
  watched_.next = watched;
  return watched->record;
}

void RecordPool::give_shared(SpawnRecord* record) noexcept {
  auto* watched = reinterpret_cast<Watched*>(record - 1);
  {
    std::lock_guard guard(lock_);
    watched->previous->next = watched->next;
    watched->next->previous = watched->previous;
  }
  [[maybe_unused]] const arch::FiberUnwatched by_its_owner;
  std::free(watched);
}

#else

SpawnRecord* RecordPool::take_shared() noexcept {
  std::lock_guard guard(lock_);
  if (loose_ == nullptr) {
    loose_ = take_magazine();
    if (loose_ == nullptr) return nullptr;
    loose_count_ = kMagazine;
  }
  SpawnRecord* record = loose_;
  loose_ = link(record);
  --loose_count_;
  arch::fiber_acquire(record);
  return record;
}

void RecordPool::give_shared(SpawnRecord* record) noexcept {
  arch::fiber_release(record);
  std::lock_guard guard(lock_);
  add_loose(record);
}

#endif

void RecordPool::drain(Processor& p) noexcept {
  std::lock_guard guard(lock_);
  if (p.spare_records != nullptr) {
    add_full(p.spare_records);
    p.spare_records = nullptr;
  }
  while (p.records != nullptr) {
    SpawnRecord* record = p.records;
    p.records = link(record);
    add_loose(record);
  }
  p.record_count = 0;
}

}  // namespace weft::sched
