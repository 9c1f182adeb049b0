// SPDX-License-Identifier: MIT
#include "profile/spawn_site.h"

#include <mutex>
#include <unordered_map>

#include "os/symbolizer.h"
#include "profile/shown_frames.h"
#include "sched/state/spawn.h"

namespace weft::profile {

namespace {

std::string look_up(std::int32_t site) {
  const os::Symbol symbol = os::symbolize(sched::code_address(site));
  if (!symbol.file.empty())
    return symbol.file.substr(symbol.file.find_last_of('/') + 1) + ":" + std::to_string(symbol.line);
  return symbol.function.empty() ? std::string("?") : short_name(symbol.function);
}

constexpr std::size_t kMaxKnown = 10'000;
std::mutex lock;

}  // namespace

std::string spawn_site_text(std::int32_t site) {
  static auto* known = new std::unordered_map<std::int32_t, std::string>;  // lazy: never in a handler; never destroyed
  const std::lock_guard guard(lock);
  if (known->size() > kMaxKnown) known->clear();
  const auto [found, is_new] = known->try_emplace(site);
  if (is_new) found->second = look_up(site);
  return found->second;
}

}  // namespace weft::profile
