// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"

// Named places in the race windows of the protocols (between publishing and switching, between giving up and looking
// again) where a test build may pause, so that a race that needs an unlucky moment happens often. Off by default, and
// empty in ordinary builds.
//   Use       WEFT_DELAY_SITE("retire.recheck");   set_delay_seed(seed) switches all sites on (0: off).
//   Counters  every site counts its visits; a test fails when a site was never reached.
namespace weft::base {

struct DelaySite {
  explicit constexpr DelaySite(const char* site_name) noexcept : name(site_name) {}
  void visit() noexcept;
  const char* name;
  DelaySite* next = nullptr;  // in the list of all sites, which a site joins at its first visit
  Atom<std::uint64_t> visits{0};
};

void set_delay_seed(std::uint64_t seed) noexcept;
const DelaySite* all_delay_sites() noexcept;

}  // namespace weft::base

#if WEFT_DEBUG_CHECKS
#define WEFT_DELAY_SITE(name)                                       \
  do {                                                              \
    static constinit ::weft::base::DelaySite weft_delay_site(name); \
    weft_delay_site.visit();                                        \
  } while (0)
#else
#define WEFT_DELAY_SITE(name) static_cast<void>(0)
#endif
