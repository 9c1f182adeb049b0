// SPDX-License-Identifier: MIT
#include "weft/detail/launch.h"

#include <algorithm>
#include <memory>
#include <string>

#include "api/start.h"
#include "api/thread_locals.h"
#include "sched/core/arrivals.h"
#include "sched/core/dispatch.h"
#include "sched/core/lease.h"
#include "sched/core/preempt.h"
#include "sched/model/gangs.h"
#include "sched/state/locals.h"
#include "sched/state/spawn.h"
#include "weft/detail/task_core.h"

namespace weft::detail {
namespace {

using sched::scheduler;
using sched::SpawnExtra;

__attribute__((always_inline)) inline spawn_record* take_record() {
  // Records already wait for stacks, because memory ran out: more records would only wait longer.
  if (WEFT_UNLIKELY(!scheduler.starved.empty())) throw std::bad_alloc();
  // A goroutine that has left its P to others (lease.h) need not wait for it, because a shared record will do.
  sched::Processor* p = os::current_p();
  if (WEFT_UNLIKELY(p == nullptr) && !sched::has_lease()) p = sched::regain_processor();
  spawn_record* record = WEFT_LIKELY(p != nullptr) ? scheduler.records.take(*p) : scheduler.records.take_shared();
  if (WEFT_UNLIKELY(record == nullptr)) throw std::bad_alloc();
  return record;
}

void give_record(spawn_record* record) noexcept {
  if (sched::Processor* p = os::current_p()) {
    scheduler.records.give(*p, record);
  } else {
    scheduler.records.give_shared(record);
  }
}

SpawnExtra* extra_of(const spawn_record* record) noexcept {
  SpawnExtra* extra;
  std::memcpy(&extra, record->closure, sizeof extra);
  return extra;
}

void destroy_extra(SpawnExtra* extra) noexcept {
  if (extra->g != nullptr) scheduler.stacks.give_sized(extra->g);
  if (extra->gang != nullptr) sched::gangs.leave(extra->gang);  // the goroutine was never started
  delete extra->inherited;
  delete extra;
}

// What a child of the caller (goroutine or thread) inherits; null: nothing.
const sched::Locals* inheritable_locals() noexcept {
  const sched::Goroutine* g = os::current_g();
  const sched::Locals* locals = g != nullptr ? g->locals : api::find_thread_locals();
  return locals != nullptr && locals->has_inheritable() ? locals : nullptr;
}

// Inlined: every spawn() calls it.
__attribute__((always_inline)) inline void* take_block_for(prepared_record spawn, std::size_t state_size) {
  if (state_size > block_size) return nullptr;
  try {
    return take_record();
  } catch (...) {
    abandon_record(spawn);
    throw;
  }
}

prepared_record prepare_extended(const go_options& options) {
  std::unique_ptr<SpawnExtra, void (*)(SpawnExtra*) noexcept> extra(new SpawnExtra, destroy_extra);
  extra->name = options.name;
  if (options.stack_size != 0) {
    if (options.stack_size > sched::kMaxStackBytes) throw std::bad_alloc();
    extra->g = scheduler.stacks.take_sized(std::max(options.stack_size, sched::kMinStackBytes));
    if (extra->g == nullptr) throw std::bad_alloc();
  }
  extra->idle = options.idle;
  if (const sched::Goroutine* parent = os::current_g()) {
    extra->parent = parent->id;
    extra->controlled = parent->habits.controlled;
    if (extra->controlled != 0) extra->idle = false;  // the test decides what runs
  }
  if (const sched::Locals* locals = inheritable_locals()) extra->inherited = locals->inherit();
  spawn_record* record = take_record();
  SpawnExtra* raw = extra.release();
  std::memcpy(record->closure, &raw, sizeof raw);
  return {record, true};
}

}  // namespace

prepared_record prepare_record() {
  sched::Goroutine* g = os::current_g();
  if (WEFT_UNLIKELY(g == nullptr)) {
    api::ensure_started();
    if (inheritable_locals() != nullptr || trace::recording()) return prepare_extended({});
  } else if (WEFT_UNLIKELY(g->locals != nullptr) && g->locals->has_inheritable()) {
    return prepare_extended({});
  } else if (trace::recording()) {  // a traced goroutine has an id from its creation on
    return prepare_extended({});
  }
  return {take_record(), false};
}

prepared_record prepare_record(const go_options& options) {
  api::ensure_started();
  return prepare_extended(options);
}

prepared_record prepare_member(const go_options& options, sched::GangForce& force) {
  const prepared_record prepared = prepare_record(options);
  try {
    extra_of(prepared.record)->gang = sched::gangs.join(force, sched::maxprocs());
  } catch (...) {
    abandon_record(prepared);
    throw;
  }
  return prepared;
}

void abandon_record(prepared_record prepared) noexcept {
  if (prepared.has_extra) destroy_extra(extra_of(prepared.record));
  give_record(prepared.record);
}

void launch_record(prepared_record prepared) noexcept {
  sched::submit(sched::Runnable(prepared.record, prepared.has_extra));
}

void give_id(prepared_record prepared, std::uint64_t id) noexcept { extra_of(prepared.record)->id = id; }

void release_extra(spawn_record* record) noexcept { destroy_extra(extra_of(record)); }

void far_entry(spawn_record* record) {
  void (*run)(void*);
  void* box;
  bool has_extra;
  std::memcpy(&run, record->closure + 8, sizeof run);
  std::memcpy(&box, record->closure + 16, sizeof box);
  std::memcpy(&has_extra, record->closure + 24, sizeof has_extra);
  if (has_extra) release_extra(record);
  run(box);
}

prepared_task prepare_task(std::size_t state_size) {
  const prepared_record spawn = prepare_record();
  return {spawn, take_block_for(spawn, state_size)};
}
prepared_task prepare_task(const go_options& options, std::size_t state_size) {
  const prepared_record spawn = prepare_record(options);
  return {spawn, take_block_for(spawn, state_size)};
}

prepared_task prepare_main_task(std::size_t state_size) {
  api::ensure_started();
  const std::size_t bytes = scheduler.stacks.main_size();
  if (bytes == scheduler.stacks.default_size()) return prepare_task(state_size);
  return prepare_task({.stack_size = bytes}, state_size);
}

void free_block(void* block) noexcept { give_record(static_cast<spawn_record*>(block)); }

void throw_empty_function(const char* starter) {
  throw logic_error(std::string("weft: ") + starter +
                    ": the function is empty (a null pointer or an empty std::function)");
}

}  // namespace weft::detail
