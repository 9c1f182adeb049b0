// SPDX-License-Identifier: MIT
#pragma once
// For one source of a model: it defines what the sources under test call.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "weft/detail/task_core.h"

#include "model/relacy_atomics.h"

namespace weft::model {

// What api/launch.cc does, as far as timers and contexts see it. Plain data: threads of a simulation take turns.
struct Launching {
  std::deque<detail::spawn_record> records;  // stay where they are until the execution is over
  std::vector<detail::spawn_record*> launched;
  std::vector<std::byte*> blocks;
  int records_out = 0, blocks_out = 0;

  void run_launched() {
    while (!launched.empty()) {
      detail::spawn_record* record = launched.back();
      launched.pop_back();
      const auto entry =
          reinterpret_cast<detail::spawn_entry>(reinterpret_cast<std::intptr_t>(&detail::spawn_anchor) + record->entry);
      entry(record);
      record->link = 1;
      --records_out;
    }
  }
  void free_blocks() {
    for (std::byte* block : blocks) std::free(block);
  }
};
inline Launching* launching;  // of this execution

}  // namespace weft::model

namespace weft::detail {

using model::launching;

void spawn_anchor() noexcept {}
void release_extra(spawn_record*) noexcept {}
void far_entry(spawn_record* record) {
  void (*run)(void*);
  void* box;
  std::memcpy(&run, record->closure + 8, sizeof run);
  std::memcpy(&box, record->closure + 16, sizeof box);
  run(box);
}
prepared_record prepare_record() {
  ++launching->records_out;
  return {&launching->records.emplace_back(), false};
}
void abandon_record(prepared_record prepared) noexcept {
  RL_ASSERT(std::find(launching->launched.begin(), launching->launched.end(), prepared.record) ==
            launching->launched.end());
  RL_ASSERT(prepared.record->link == 0);  // nobody has given it back or run it
  prepared.record->link = 1;
  --launching->records_out;
}
void launch_record(prepared_record prepared) noexcept {
  RL_ASSERT(prepared.record->link == 0);
  launching->launched.push_back(prepared.record);
}
prepared_task prepare_task(std::size_t) {
  ++launching->blocks_out;
  auto* block = static_cast<std::byte*>(std::aligned_alloc(64, 1024));
  launching->blocks.push_back(block);
  return {prepare_record(), block};
}
void free_block(void*) noexcept { --launching->blocks_out; }
[[noreturn]] void throw_empty_function(const char*) { std::abort(); }

}  // namespace weft::detail

namespace weft::sched {
void call_user(void (*function)(void*), void* argument) { function(argument); }
}  // namespace weft::sched
