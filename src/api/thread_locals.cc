// SPDX-License-Identifier: MIT
#include "api/thread_locals.h"

#include <cxxabi.h>
#include <memory>

extern "C" void* __dso_handle;

namespace weft::api {
namespace {

// A plain pointer, because destructors of thread_local objects may come here after the values are gone. They get fresh
// ones.
thread_local constinit sched::Locals* current = nullptr;

void end_of_thread(void* raw) noexcept {
  current = nullptr;  // first, because the values' own destructors may ask for locals
  delete static_cast<sched::Locals*>(raw);
}

}  // namespace

__attribute__((noinline)) sched::Locals* find_thread_locals() noexcept { return current; }

__attribute__((noinline)) sched::Locals& thread_locals() {
  if (current == nullptr) {
    auto locals = std::make_unique<sched::Locals>();
    if (abi::__cxa_thread_atexit(end_of_thread, locals.get(), &__dso_handle) != 0) throw std::bad_alloc();
    current = locals.release();
  }
  return *current;
}

}  // namespace weft::api
