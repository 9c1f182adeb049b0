// SPDX-License-Identifier: MIT
#include "api/leak_profile.h"

#include <algorithm>

#include "profile/spawn_site.h"
#include "service/leaks.h"
#include "weft/go.h"

namespace weft::api {
namespace {

profile::Labels labels_of_leak(const service::LeakedGoroutine& leak) {
  profile::Labels labels{{"reason", leak.reason}};
  if (!leak.name.empty()) labels.emplace_back("goroutine", leak.name);
  if (!leak.object.empty()) labels.emplace_back("object", leak.object);
  if (leak.site != 0) labels.emplace_back("spawn_site", profile::spawn_site_text(leak.site));
  std::ranges::sort(labels);
  return labels;
}

}  // namespace

__attribute__((noinline)) profile::Profile leak_profile() {
  const auto wait = [](void (*call)(void*), void* argument) { blocking([&] { call(argument); }); };
  profile::Profile profile(std::vector<profile::ValueType>{{"goroutineleak", "count"}});
  profile.set_period({"goroutineleak", "count"}, 1);
  for (const service::LeakedGoroutine& leak : service::find_leaked_goroutines({WEFT_STACK_IN_USE, false, wait}))
    profile.add({leak.frames, labels_of_leak(leak)}, {1});
  return profile;
}

}  // namespace weft::api
