// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "os/poll_set.h"
#include "os/ranked_mutex.h"
#include "sched/model/work_source.h"
#include "service/netpoll_descriptor.h"

// The netpoller: the table of descriptors and the kernel's set of them, as a source of work for the scheduler.
//   Start       at the first descriptor. If the system refuses (no descriptors left, no epoll), the caller gets the
//               error, and the next caller tries again.
//   Table       grows by chunks that are never given back. An entry's address is stable, so a report of the kernel
//               names its entry and the sequence number of its life: {sequence, index}.
//   Registered  once for each descriptor's life, both directions, edge-triggered: no system call when a goroutine
//               waits. A descriptor whose messages fill their buffers exactly is watched by level
//               (netpoll_descriptor.h).
//   Fork        a child shares the parent's set: it closes its copy at once and never changes it.
namespace weft::service {

class Netpoll final : public sched::WorkSource {
 public:
  // Takes over a descriptor in non-blocking mode. Null: `error` is an errno, `failed` the call;
  // the number stays the caller's.
  Descriptor* adopt(int fd, int& error, const char*& failed) noexcept;
  // Closes the descriptor if need be, and gives its memory back.
  void destroy(Descriptor& descriptor) noexcept;

  // For netpoll_number.h. False: the poller cannot be started.
  bool start_numbers() noexcept;
  // Reports the number once, for these events. `known`: it was armed before. False: the kernel does not watch it, or a
  // descriptor of the table has it.
  bool arm_number(int fd, std::uint32_t events, bool known) noexcept;
  void forget_number(int fd) noexcept { set_.remove(fd); }
  // False also before the start: then there is nothing to forget.
  bool is_own_process() const noexcept;

  void look(sched::RunnableList& ready) noexcept override;
  void wait(std::int64_t deadline_ns, sched::RunnableList& ready) noexcept override;
  void interrupt() noexcept override { set_.ring(); }

  void forget_after_fork() noexcept { set_.forget_after_fork(); }

 private:
  friend class Descriptor;
  static constexpr std::uint32_t kChunk = 256, kChunks = 1u << 16;
  static constexpr std::uint32_t kIsNumber = 1u << 31;  // of a token: no entry of the table, but a descriptor's number

  void unregister(Descriptor& descriptor) noexcept;
  bool watch(Descriptor& descriptor, bool level) noexcept;
  int start_locked(const char*& failed) noexcept;
  Descriptor* take_entry_locked() noexcept;
  void give_entry(Descriptor& descriptor) noexcept;
  void deliver(const os::PollEvent* events, std::size_t count, sched::RunnableList& ready) noexcept;

  os::PollSet set_;
  os::RankedMutex<base::Rank::kDescriptor> lock_;  // over the members that follow
  Descriptor* free_ = nullptr;
  std::uint32_t made_ = 0;
  base::Atom<std::int32_t> numbers_owner_{0};  // the process that has started them
  // Apart from the object, whose pointer to its functions is no zero: as a member, this table would make every program
  // 512 KB larger.
  static inline constinit base::Atom<Descriptor*> chunks_[kChunks]{};
};

// One per process; constant-initialised.
Netpoll& netpoll() noexcept;

}  // namespace weft::service
