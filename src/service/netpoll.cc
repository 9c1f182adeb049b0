// SPDX-License-Identifier: MIT
#include "service/netpoll.h"

#include <unistd.h>
#include <cerrno>
#include <mutex>
#include <new>

#include "base/delay_site.h"
#include "os/keep_errno.h"
#include "sched/core/watcher.h"
#include "sched/state/scheduler.h"
#include "service/netpoll_number.h"

namespace weft::service {

using sched::Counter;
using sched::scheduler;

namespace {
constinit Netpoll instance;
}
Netpoll& netpoll() noexcept { return instance; }

int Netpoll::start_locked(const char*& failed) noexcept {
  if (set_.is_open()) return 0;
  const int error = set_.open(failed);
  if (error == 0) scheduler.network.source.store_release(this);  // pairs: network.source
  return error;
}

Descriptor* Netpoll::take_entry_locked() noexcept {
  if (free_ == nullptr) {
    const std::uint32_t chunk = made_ / kChunk;
    if (chunk == kChunks) return nullptr;
    auto* entries = new (std::nothrow) Descriptor[kChunk];
    if (entries == nullptr) return nullptr;
    for (std::uint32_t i = kChunk; i-- > 0;) {
      entries[i].index_ = made_ + i;
      entries[i].next_free_ = free_;
      free_ = &entries[i];
    }
    made_ += kChunk;
    chunks_[chunk].store_release(entries);  // pairs: netpoll.chunks
  }
  Descriptor* entry = free_;
  free_ = entry->next_free_;
  return entry;
}

void Netpoll::give_entry(Descriptor& descriptor) noexcept {
  std::lock_guard guard(lock_);
  descriptor.next_free_ = free_;
  free_ = &descriptor;
}

Descriptor* Netpoll::adopt(int fd, int& error, const char*& failed) noexcept {
  Descriptor* entry;
  {
    std::lock_guard guard(lock_);
    error = start_locked(failed);
    if (error != 0) return nullptr;
    entry = take_entry_locked();
  }
  if (entry == nullptr) {
    error = ENOMEM;
    failed = "allocating a descriptor";
    return nullptr;
  }
  Descriptor& descriptor = *entry;
  descriptor.fd_ = fd;
  ++descriptor.sequence_;
  descriptor.suspicious_.store_relaxed(false);
  descriptor.level_.store_relaxed(false);
  descriptor.level_refused_.store_relaxed(false);
  descriptor.level_left_ = 0;
  descriptor.keep_number_ = false;
  descriptor.gone_ = false;
  for (Descriptor::Direction& direction : descriptor.directions_) {
    direction.expired.store_relaxed(false);
    direction.gate.open(descriptor.sequence_);
  }
  descriptor.refs_.store_release(0);  // pairs: descriptor.refs
  { const NumberClose no_longer_other_peoples(fd); }
  WEFT_DELAY_SITE("netpoll.before_add");
  scheduler.network.registered.fetch_add_seq_cst(1);  // pairs: network.registered (self)
  error = set_.add(fd, std::uint64_t{descriptor.sequence_} << 32 | descriptor.index_);
  if (error != 0) {
    failed = "epoll_ctl";
    scheduler.network.registered.fetch_add_seq_cst(-1);   // pairs: network.registered (self)
    descriptor.refs_.store_release(Descriptor::kClosed);  // pairs: descriptor.refs
    give_entry(descriptor);
    return nullptr;
  }
  sched::network_registered();
  return &descriptor;
}

// Once for each life, by the closer. When the entry is used again, late reports do not match its new sequence number.
void Netpoll::unregister(Descriptor& descriptor) noexcept {
  if (!set_.is_open()) return;  // a forked child
  set_.remove(descriptor.fd_);
  scheduler.network.registered.fetch_add_seq_cst(-1);  // pairs: network.registered (self)
}

bool Netpoll::watch(Descriptor& descriptor, bool level) noexcept {
  return set_.change(descriptor.fd_, std::uint64_t{descriptor.sequence_} << 32 | descriptor.index_, level) == 0;
}

// Counts as one registered descriptor from then on, so that an M watches.
bool Netpoll::start_numbers() noexcept {
  if (WEFT_LIKELY(numbers_owner_.load_acquire() != 0)) return true;  // pairs: netpoll.numbers_owner
  {
    std::lock_guard guard(lock_);
    if (numbers_owner_.load_relaxed() != 0) return true;
    const char* failed = nullptr;
    if (start_locked(failed) != 0) return false;
    scheduler.network.registered.fetch_add_seq_cst(1);  // pairs: network.registered (self)
    numbers_owner_.store_release(getpid());  // pairs: netpoll.numbers_owner
  }
  sched::network_registered();
  return true;
}

bool Netpoll::is_own_process() const noexcept {
  const std::int32_t owner = numbers_owner_.load_relaxed();
  if (owner == 0) return false;
  const os::KeepErrno keep;
  return getpid() == owner;
}

bool Netpoll::arm_number(int fd, std::uint32_t events, bool known) noexcept {
  return set_.arm(fd, static_cast<std::uint32_t>(fd) | kIsNumber, events, known) == 0;
}

void Netpoll::destroy(Descriptor& descriptor) noexcept {
  descriptor.close();
  give_entry(descriptor);
}

void Netpoll::deliver(const os::PollEvent* events, std::size_t count, sched::RunnableList& ready) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint32_t>(events[i].token);
    if (WEFT_UNLIKELY((index & kIsNumber) != 0)) {
      notify_number(index & ~kIsNumber, ready);
      continue;
    }
    Descriptor* chunk = chunks_[index / kChunk].load_acquire();  // pairs: netpoll.chunks
    chunk[index % kChunk].notify(static_cast<std::uint32_t>(events[i].token >> 32), events[i].what, ready);
  }
  if (!ready.empty()) sched::count(os::current_p(), Counter::kNetpollWakeups, ready.size());
}

void Netpoll::look(sched::RunnableList& ready) noexcept {
  os::PollEvent events[os::PollSet::kBatch];
  deliver(events, set_.look(events), ready);
}

void Netpoll::wait(std::int64_t deadline_ns, sched::RunnableList& ready) noexcept {
  os::PollEvent events[os::PollSet::kBatch];
  deliver(events, set_.wait(events, deadline_ns), ready);
}

}  // namespace weft::service
