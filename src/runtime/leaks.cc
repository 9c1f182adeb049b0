// SPDX-License-Identifier: MIT
#include "runtime/leaks.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "api/start.h"
#include "base/check.h"
#include "os/symbolizer.h"
#include "sched/state/spawn.h"
#include "service/leaks.h"
#include "weft/go.h"
#include "weft/runtime.h"

namespace weft::runtime {
namespace {

std::string place_of(const os::Symbol& symbol) {
  if (!symbol.file.empty()) return symbol.file + ":" + std::to_string(symbol.line);
  return symbol.function.empty() ? symbol.module : symbol.function;
}

leak publish(service::LeakedGoroutine& found) {
  leak one;
  one.id = goroutine_id(found.id);
  one.name = std::move(found.name);
  one.reason = std::move(found.reason);
  one.object = std::move(found.object);
  if (found.site != 0) one.started_at = place_of(os::symbolize(sched::code_address(found.site)));
  for (const void* pc : found.frames) {
    const os::Symbol symbol = os::symbolize(pc);
    one.stack.push_back((symbol.function.empty() ? "??" : symbol.function) + " " + place_of(symbol));
  }
  return one;
}

}  // namespace

__attribute__((noinline)) std::vector<leak> find_leaks() {
  api::ensure_started();
  const auto wait = [](void (*call)(void*), void* argument) { blocking([&] { call(argument); }); };
  std::vector<leak> leaks;
  for (service::LeakedGoroutine& found : service::find_leaked_goroutines({WEFT_STACK_IN_USE, false, wait})) leaks.push_back(publish(found));
  return leaks;
}

__attribute__((noinline)) void report_leaks_at_exit(LeakCheck check) {
  const auto wait = [](void (*call)(void*), void* argument) { call(argument); };
  const std::string text = service::describe_leaks(service::find_leaked_goroutines({WEFT_STACK_IN_USE, true, wait}));
  if (text.empty()) return;
  base::write_stderr(text.data(), text.size());
  if (check != LeakCheck::kFail) return;
  std::fflush(nullptr);
  base::run_last_words();
  std::_Exit(3);
}

}  // namespace weft::runtime
