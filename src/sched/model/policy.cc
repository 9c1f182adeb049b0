// SPDX-License-Identifier: MIT
#include "sched/model/policy.h"

#include "sched/model/settings.h"

namespace weft::sched {

Place Policy::ready_all(Processor& p, const Runnable* several, std::size_t count, Why why) noexcept {
  Place place = Place::kHidden;
  for (std::size_t i = 0; i < count; ++i)
    if (ready(p, several[i], why) == Place::kOffered) place = Place::kOffered;
  return place;
}

Pick Policy::exchange(Processor& p, Runnable) noexcept { return next(p, Runnable()); }

std::int64_t Policy::slice_ns(const Processor&) const noexcept { return settings.slice_ns; }

Processor* Policy::tick(std::int64_t) noexcept { return nullptr; }

}  // namespace weft::sched
