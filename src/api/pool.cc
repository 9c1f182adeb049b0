// SPDX-License-Identifier: MIT
#include "weft/pool.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <thread>

#include "base/cache_line.h"
#include "os/spin_lock.h"
#include "sched/state/scheduler.h"
#include "weft/detail/happens_before.h"

// Pool.
//   Shards   Each P has one, found by its number, so the shard's lock is almost never contended. The lock makes it
//            harmless that the goroutine may be on another P by now, that the number of Ps changes, and that threads
//            use the shards, too.
namespace weft::detail {
namespace {
constexpr std::size_t kMostPerShard = 256;
}

struct pool_core::chain {
  pool_node* first = nullptr;
  base::Atom<std::size_t> count{0};  // read without the lock as a hint
};

struct alignas(base::kCacheLine) pool_core::shard {
  os::SpinLock lock;
  chain chains[2];

  bool put(kind which, pool_node* node) noexcept {
    lock.lock();
    chain& mine = chains[which];
    const bool has_room = mine.count.load_relaxed() < kMostPerShard;
    if (has_room) {
      node->next = mine.first;
      mine.first = node;
      mine.count.bump();
    }
    lock.unlock();
    return has_room;
  }
  pool_node* take(kind which) noexcept {
    chain& mine = chains[which];
    if (mine.count.load_relaxed() == 0) return nullptr;
    lock.lock();
    pool_node* const node = mine.first;
    if (node != nullptr) {
      mine.first = node->next;
      mine.count.store_relaxed(mine.count.load_relaxed() - 1);
    }
    lock.unlock();
    return node;
  }
};

namespace {
std::size_t place() noexcept {
  const sched::Processor* p = os::current_p();
  return p != nullptr ? p->id : static_cast<std::size_t>(pthread_self()) >> 12;  // threads' stacks are pages apart
}
}  // namespace

pool_core::pool_core()
    : count_(std::bit_ceil(std::max<std::size_t>({sched::maxprocs(), std::thread::hardware_concurrency(), 1}))),
      shards_(new shard[count_]) {}

pool_core::~pool_core() = default;

bool pool_core::put(kind which, pool_node* node) noexcept {
  // The goroutine that gets an object comes after the one that has put it there. Spare nodes would order goroutines
  // that got other objects, too, so TSan builds keep none.
  if (WEFT_TELLS_TSAN && which == spare) return false;
  order_release(node);
  return shards_[place() % count_].put(which, node);
}

pool_node* pool_core::take(kind which) noexcept {
  const std::size_t own = place() % count_;
  for (std::size_t i = 0; i < count_; ++i)
    if (pool_node* node = shards_[(own + i) % count_].take(which)) {
      order_acquire(node);
      return node;
    }
  return nullptr;
}

}  // namespace weft::detail
