// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/spin_lock.h"
#include "sched/wait/wait_queue.h"

// Waits for descriptors that belong to other people's code (src/posix): the library knows nothing of them but their
// numbers, and does not change their modes.
//   Entry       one for each number, never given back: the waiters, and how often the number has been closed.
//   Waiting     Under the entry's lock the waiter queues, and the kernel is told to report the number once
//               (EPOLLONESHOT) for all that its waiters wait for. A report wakes all of them. Each tries its own call
//               again, and waits again if it must.
//   No loss     A waiter is on the list before it tells the kernel. Being told, the kernel reports what is ready at
//               that moment, and what becomes ready later. So each report that a waiter needs comes after it queued.
//               The lock makes the kernel's last instruction cover every waiter that is on the list.
//   Reuse       The kernel finds a registration by number and file. If the number means another file by now, the change
//               is refused (ENOENT), and the number is registered anew. So a close that nobody told us of does no harm.
//   Close       The caller of close() tells us before and after (NumberClose). The waiters leave with kClosed: they must
//               not try the number again, because it may mean another file by then. In between nobody begins to wait,
//               because the kernel would drop the registration without a report.
//   Rejected    Registering for good, as service/netpoll_descriptor.h does: it relies on being told of each close.
//               A duplicate for each wait (api/io_wait.cc): three system calls more, and it keeps the file open.
namespace weft::service {

struct NumberWait {
  int fd;
  std::uint32_t events;  // as poll(2) and epoll(7) write them: their bits are the same
};

enum class NumberOutcome : std::uint8_t {
  kReady,    // something happened: try again
  kTimeout,  // the deadline came first
  kClosed,   // one of the numbers was closed meanwhile
  kRefused,  // the kernel does not watch such a descriptor (a file on a disk), or has no room
};

inline constexpr std::size_t kMostNumbers = 32;  // for one wait

// Parks the calling goroutine until one of the descriptors is ready. May switch. `closed`: of kClosed, which of them.
NumberOutcome wait_for_numbers(const NumberWait* numbers, std::size_t count, std::int64_t deadline_ns,
                               std::size_t* closed = nullptr) noexcept;

// Lives while the number is closed, or made to mean another file.
class NumberClose {
 public:
  explicit NumberClose(int fd) noexcept;
  ~NumberClose();
  NumberClose(const NumberClose&) = delete;

 private:
  struct NumberEntry* entry_;  // null: nobody has ever waited for the number
};

// The kernel's report (netpoll.cc).
void notify_number(std::uint32_t fd, sched::RunnableList& ready) noexcept;

// Has anybody waited for the number, or remembered something about it, or one near it? Cheap.
bool is_number_known(int fd) noexcept;
// What the callers remember about a number; 0 after it was closed. A hint, because a close may go unseen.
std::uint8_t number_hint(int fd) noexcept;
void set_number_hint(int fd, std::uint8_t hint) noexcept;

}  // namespace weft::service
