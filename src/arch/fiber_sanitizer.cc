// SPDX-License-Identifier: MIT
#include "arch/fiber_sanitizer.h"

#if WEFT_TSAN_USERS
#include <link.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/atomic.h"

namespace weft::arch {
namespace {

constexpr std::uintptr_t kStackPage = 4096;

// A fiber that never does anything but create others. One thread at a time may run it, which is TSan's rule for fibers.
// A thread that has to wait yields its CPU, because creating a fiber takes TSan long.
class Nursery {
 public:
  // `enter`: the thread goes on in the new fiber.
  void* create(bool enter) noexcept {
    void* from = __tsan_get_current_fiber();
    while (busy_.exchange_acquire(true)) sched_yield();  // pairs: nursery
    if (fiber_ == nullptr) fiber_ = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(fiber_, __tsan_switch_to_fiber_no_sync);
    void* made = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(enter ? made : from, __tsan_switch_to_fiber_no_sync);
    busy_.store_release(false);  // pairs: nursery
    return made;
  }

 private:
  base::Atom<bool> busy_{false};
  void* fiber_ = nullptr;
};
constinit Nursery nursery;

// The lowest page of [bottom, top) that was ever written, as far as the kernel knows.
const std::byte* lowest_touched(const std::byte* bottom, const std::byte* top) noexcept {
  constexpr std::size_t kPages = 2048;
  unsigned char resident[kPages];
  const auto end = reinterpret_cast<std::uintptr_t>(top);
  for (auto at = reinterpret_cast<std::uintptr_t>(bottom); at < end; at += kPages * kStackPage) {
    const std::size_t bytes = std::min<std::size_t>(kPages * kStackPage, end - at);
    if (syscall(SYS_mincore, at, bytes, resident) != 0) return bottom;  // raw, because TSan intercepts mincore()
    for (std::size_t page = 0; page * kStackPage < bytes; ++page)
      if ((resident[page] & 1) != 0) return reinterpret_cast<const std::byte*>(at + page * kStackPage);
  }
  return top;
}

// Makes TSan forget accesses and locks in the range. TSan does so for memory that is unmapped, before it asks the
// kernel. The kernel then refuses to unmap, because the address is not that of a page.
void forget_accesses(const std::byte* bottom, const std::byte* top) noexcept {
  const int kept = errno;
  const std::byte* low = lowest_touched(bottom, top);
  if (low < top) munmap(const_cast<std::byte*>(low - 8), static_cast<std::size_t>(top - low) + 8);
  errno = kept;
}

}  // namespace

// Goroutines that follow each other on a thread use its thread_locals in turn. That is no race, and TSan cannot know
// whether it is intended.
void share_thread_locals() noexcept {
  dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t, void*) {
        if (module->dlpi_tls_data == nullptr) return 0;
        for (int i = 0; i < module->dlpi_phnum; ++i)
          if (const ElfW(Phdr)& part = module->dlpi_phdr[i]; part.p_type == PT_TLS)
            fiber_switches(module->dlpi_tls_data, part.p_memsz);
        return 0;
      },
      nullptr);
}

void* create_fiber() noexcept { return nursery.create(false); }

void replace_fiber(Fiber& fiber, const std::byte* bottom, const std::byte* top) noexcept {
  fiber_stands_still();
  void* ended = std::exchange(fiber.handle, nursery.create(true));
  __tsan_destroy_fiber(ended);
  fiber_goes_on();
  const auto end = (reinterpret_cast<std::uintptr_t>(top) + kStackPage - 1) & ~(kStackPage - 1);
  forget_accesses(bottom, reinterpret_cast<const std::byte*>(end));
}

}  // namespace weft::arch
#endif
