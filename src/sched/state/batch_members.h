// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/spin_lock.h"
#include "sched/model/goroutine.h"

// Which goroutines talk with each other, through which channels, and how often: the batches of runtime::batches(). The
// batch policy writes it at wake-ups.
//   Joining   Of two goroutines that meet, one without a batch joins the other's; two without form one. A batch takes
//             no more than kMost, so that a server does not gather all its clients.
//   Leaving   A goroutine is loyal to its batch as often as it is woken by a member. If two of different batches meet,
//             the one in the smaller batch loses some loyalty, and without any it changes to the other batch. So a ring
//             of goroutines that formed two batches becomes one, and a rare meeting moves nobody. A preempted
//             goroutine leaves at once.
//   Owner     Goroutine::habits.batch and batch_loyalty are written by the owner of the goroutine: itself, its waker, or the M that ends
//             it. A member has kGDetails, so that its end comes by leave().
//   Counts    `meetings` is a statistic. Two Ps that run members of one batch may lose counts of each other.
//   Lock      Joining, leaving and new channels take a spin lock. The usual meeting, in one batch and through a known
//             channel, takes none.
//   Memory    Records come in chunks that are never given back. Without memory, or beyond kMostBatches, goroutines have
//             no batch.
namespace weft::sched {

class BatchMembers {
 public:
  static constexpr std::uint32_t kMost = 64, kChannels = 6, kNameBytes = 24;

  struct Record {
    std::uint64_t id = 0;
    base::Atom<std::uint64_t> meetings{0};
    base::Atom<std::uint32_t> members{0};
    base::Atom<std::uint32_t> processor{0};                  // where they met last
    base::Atom<const void*> channels[kChannels] = {};        // null: no more
    char names[kChannels][kNameBytes] = {};                  // cut off if too long
    std::uint32_t next_free = 0;
  };

  // Owner of p and of both. The waker has woken it, by a send for example, `times` times. Whether that was by way of a
  // channel is seen by its wait_reason.
  void met(Processor& p, Goroutine* waker, Goroutine* woken, std::uint32_t times) noexcept;
  // Owner of g.
  void leave(Goroutine* g) noexcept {
    if (const std::uint32_t batch = batch_of(g); WEFT_UNLIKELY(batch != 0)) leave_batch(g, batch);
  }

  // 0: none.
  static std::uint32_t batch_of(const Goroutine* g) noexcept {
    return g->habits.batch[0] | std::uint32_t{g->habits.batch[1]} << 8;
  }
  // While no goroutine joins or leaves it.
  const Record& record(std::uint32_t batch) const noexcept {
    return chunks_[batch / kChunk].load_acquire()[batch % kChunk];  // pairs: batch_members.chunk
  }
  std::uint32_t count() const noexcept { return count_.load_relaxed(); }

 private:
  static constexpr std::uint32_t kChunk = 2048, kMostBatches = 1u << 16;
  static constexpr std::uint8_t kMostLoyal = 7;
  static constexpr std::uint32_t kAlwaysLooks = 64;  // the first meetings of a batch: each is asked for its channel

  static void write(Goroutine* g, std::uint32_t batch, std::uint8_t loyalty) noexcept {
    g->habits.batch[0] = static_cast<std::uint8_t>(batch);
    g->habits.batch[1] = static_cast<std::uint8_t>(batch >> 8);
    g->batch_loyalty = loyalty;
  }

  Record& own_record(std::uint32_t batch) noexcept { return const_cast<Record&>(record(batch)); }
  void met_stranger(Processor& p, Goroutine* waker, Goroutine* woken, std::uint32_t times) noexcept;
  void note_channel(Record& batch, const Goroutine* woken) noexcept;
  void leave_batch(Goroutine* g, std::uint32_t batch) noexcept;
  bool join_locked(Processor& p, Goroutine* g, std::uint32_t batch) noexcept;
  void leave_locked(Goroutine* g, std::uint32_t batch) noexcept;
  std::uint32_t make_locked() noexcept;
  bool add_chunk_locked() noexcept;

  os::SpinLock lock_;  // without a rank, because wakers hold other locks; nothing is locked under it
  std::uint32_t free_ = 0;  // chain of free records by number
  std::uint32_t made_ = 0;  // chunks
  std::uint64_t next_id_ = 1;
  base::Atom<std::uint32_t> count_{0};
  base::Atom<Record*> chunks_[kMostBatches / kChunk] = {};
};

extern BatchMembers batch_members;

}  // namespace weft::sched
