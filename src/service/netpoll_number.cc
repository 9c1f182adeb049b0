// SPDX-License-Identifier: MIT
#include "service/netpoll_number.h"

#include <new>

#include "base/delay_site.h"
#include "service/netpoll.h"

namespace weft::service {

struct alignas(base::kCacheLine) NumberEntry {
  os::SpinLock lock;           // over the members that follow
  bool registered = false;     // told to the kernel since the number was last closed
  std::uint16_t closing = 0;   // callers of close() that are under way
  std::uint32_t closed = 0;    // how often
  std::uint32_t wanted = 0;    // by those on the list
  sched::WaitList waiting;
  base::Atom<std::uint8_t> hint{0};
};

namespace {

using sched::scheduler;
using sched::Waiter;
using Entry = NumberEntry;

constexpr int kChunk = 256, kChunks = 4096;
constinit base::Atom<Entry*> chunks[kChunks];

Entry* find(int fd) noexcept {
  if (fd < 0 || fd >= kChunk * kChunks) return nullptr;
  Entry* chunk = chunks[fd / kChunk].load_acquire();  // pairs: netpoll.numbers
  return chunk != nullptr ? chunk + fd % kChunk : nullptr;
}

Entry* find_or_make(int fd) noexcept {
  if (fd < 0 || fd >= kChunk * kChunks) return nullptr;
  base::Atom<Entry*>& place = chunks[fd / kChunk];
  Entry* chunk = place.load_acquire();  // pairs: netpoll.numbers
  if (chunk == nullptr) {
    auto* made = new (std::nothrow) Entry[kChunk];
    if (made == nullptr) return nullptr;
    chunk = made;
    Entry* expected = nullptr;
    if (!place.cas_acq_rel(expected, made)) {  // pairs: netpoll.numbers
      delete[] made;
      chunk = expected;
    }
  }
  return chunk + fd % kChunk;
}

// One wait for several numbers.
class Watch {
 public:
  Watch(const NumberWait* numbers, std::size_t count) noexcept : numbers_(numbers), count_(count) {}

  bool find_entries() noexcept {
    for (std::size_t i = 0; i < count_; ++i)
      if ((entries_[i] = find_or_make(numbers_[i].fd)) == nullptr) return false;
    return true;
  }
  enum class Begun : std::uint8_t { kYes, kRefused, kClosing };
  // Queues for every number. kRefused: the kernel does not watch one of them.
  Begun begin(sched::Wait& wait) noexcept {
    Begun begun = Begun::kYes;
    while (begun_ < count_ && (begun = begin_one(wait, begun_)) == Begun::kYes) ++begun_;
    return begun;
  }
  // Takes the waiters off the lists. The index of a number that was closed meanwhile, or kNone.
  static constexpr std::size_t kNone = SIZE_MAX;
  std::size_t end() noexcept {
    std::size_t closed = kNone;
    for (std::size_t i = 0; i < begun_; ++i) {
      Entry& entry = *entries_[i];
      entry.lock.lock();
      entry.waiting.remove(waiters_[i]);
      if (entry.waiting.empty()) entry.wanted = 0;
      if (entry.closed != closed_[i]) closed = i;
      entry.lock.unlock();
    }
    return closed;
  }

 private:
  Begun begin_one(sched::Wait& wait, std::size_t i) noexcept {
    Entry& entry = *entries_[i];
    waiters_[i].who = wait.sleeper();
    waiters_[i].choice = &wait.choice();
    entry.lock.lock();
    if (entry.closing != 0) {
      entry.lock.unlock();
      return Begun::kClosing;
    }
    closed_[i] = entry.closed;
    entry.waiting.push(waiters_[i]);
    entry.wanted |= numbers_[i].events;
    WEFT_DELAY_SITE("number.before_arm");
    const bool armed = netpoll().arm_number(numbers_[i].fd, entry.wanted, entry.registered);
    entry.registered |= armed;
    if (!armed) entry.waiting.remove(waiters_[i]);
    entry.lock.unlock();
    return armed ? Begun::kYes : Begun::kRefused;
  }

  const NumberWait* numbers_;
  std::size_t count_, begun_ = 0;
  Entry* entries_[kMostNumbers];
  std::uint32_t closed_[kMostNumbers];
  Waiter waiters_[kMostNumbers];
};

sched::WaitReason reason_of(const NumberWait* numbers, std::size_t count) noexcept {
  if (count != 1) return sched::WaitReason::kIo;
  return (numbers->events & 4) != 0 ? sched::WaitReason::kWrite : sched::WaitReason::kRead;  // POLLOUT
}

}  // namespace

NumberOutcome wait_for_numbers(const NumberWait* numbers, std::size_t count, std::int64_t deadline_ns,
                               std::size_t* which) noexcept {
  Watch watch(numbers, count);
  if (count > kMostNumbers || !netpoll().start_numbers() || !watch.find_entries()) return NumberOutcome::kRefused;
  Watch::Begun begun;
  bool woken = true;
  std::size_t closed;
  {
    sched::Wait wait(reason_of(numbers, count), nullptr, deadline_ns);
    scheduler.network.waiting.fetch_add_relaxed(1);
    wait.begin();
    begun = watch.begin(wait);
    WEFT_DELAY_SITE("number.before_park");
    if (begun != Watch::Begun::kYes && wait.choice().fire(nullptr)) {
      wait.call_off();
    } else {
      woken = wait.wait();
    }
    closed = watch.end();
    scheduler.network.waiting.fetch_add_relaxed(-1);
  }
  if (closed != Watch::kNone) {
    if (which != nullptr) *which = closed;
    return NumberOutcome::kClosed;
  }
  if (begun == Watch::Begun::kClosing) sched::yield();  // the caller's next try says what the number means now
  if (begun == Watch::Begun::kRefused) return NumberOutcome::kRefused;
  return woken ? NumberOutcome::kReady : NumberOutcome::kTimeout;
}

// A child of fork or vfork closes its own copies. Goroutines wait for the parent's, which after vfork are in the same
// memory.
NumberClose::NumberClose(int fd) noexcept : entry_(find(fd)) {
  if (entry_ == nullptr) return;
  entry_->hint.store_relaxed(0);
  if (scheduler.forked.load_relaxed() || !netpoll().is_own_process()) {
    entry_ = nullptr;
    return;
  }
  sched::WaitList woken;
  entry_->lock.lock();
  ++entry_->closing;
  ++entry_->closed;
  entry_->wanted = 0;
  if (entry_->registered) netpoll().forget_number(fd);
  entry_->registered = false;
  sched::take_all(entry_->waiting, woken);
  entry_->lock.unlock();
  sched::wake_all(woken);
}

NumberClose::~NumberClose() {
  if (entry_ == nullptr) return;
  entry_->lock.lock();
  --entry_->closing;
  entry_->lock.unlock();
}

void notify_number(std::uint32_t fd, sched::RunnableList& ready) noexcept {
  Entry* entry = find(static_cast<int>(fd));
  if (entry == nullptr) return;
  WEFT_DELAY_SITE("number.before_notify");
  entry->lock.lock();
  // A woken goroutine comes back for the lock before it leaves its frame, so its waiter lives until the unlock.
  while (Waiter* waiter = entry->waiting.pop()) waiter->who.wake(ready);
  entry->wanted = 0;
  entry->lock.unlock();
}

bool is_number_known(int fd) noexcept { return find(fd) != nullptr; }
std::uint8_t number_hint(int fd) noexcept {
  const Entry* entry = find(fd);
  return entry != nullptr ? entry->hint.load_relaxed() : std::uint8_t{0};
}
void set_number_hint(int fd, std::uint8_t hint) noexcept {
  if (Entry* entry = find_or_make(fd)) entry->hint.store_relaxed(hint);
}

}  // namespace weft::service
