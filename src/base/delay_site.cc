// SPDX-License-Identifier: MIT
#include "base/delay_site.h"

#include <sched.h>
#include <time.h>

#include "base/atomic.h"
#include "base/random.h"

namespace weft::base {
namespace {

Atom<DelaySite*> sites{nullptr};
Atom<std::uint64_t> state{0};  // 0: off; else the shared random state (exact sequence does not matter)

}  // namespace

void DelaySite::visit() noexcept {
  if (visits.fetch_add_relaxed(1) == 0) {
    next = sites.load_relaxed();              // the CAS validates it
    while (!sites.cas_acq_rel(next, this)) {  // pairs: delay_sites
    }
  }
  const std::uint64_t seed = state.load_relaxed();
  if (seed == 0) return;
  Random random(seed ^ reinterpret_cast<std::uintptr_t>(this));
  const std::uint64_t value = random.next() | 1;
  state.store_relaxed(value);
  const std::uint64_t draw = (value >> 20) % 1000;
  if (draw < 20) {  // up to 199 us, as if the thread had lost its CPU
    timespec pause{0, static_cast<long>((value >> 40) % 200) * 1000};
    nanosleep(&pause, nullptr);
  } else if (draw < 100) {
    sched_yield();
  } else if (draw < 300) {
    cpu_relax(static_cast<unsigned>(value >> 50) % 256);
  }
}

void set_delay_seed(std::uint64_t seed) noexcept { state.store_relaxed(seed); }
const DelaySite* all_delay_sites() noexcept { return sites.load_acquire(); }  // pairs: delay_sites

}  // namespace weft::base
