// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "weft/detail/errno.h"

namespace weft::detail {

// Storage of a primitive's lock and list of waiters (all zero: unlocked, empty); what they are is in src/sched/wait_queue.h.
// The name is what reports call the primitive: a text that lives as long as it, usually a literal; null: none.
struct wait_queue {
  constexpr wait_queue() noexcept = default;
  constexpr explicit wait_queue(const char* its_name) noexcept : name(its_name) {}
  alignas(void*) std::byte storage[3 * sizeof(void*)]{};
  const char* name = nullptr;
};

// Who took a lock, for reports only: the low half of the stack pointer at that moment. One plain store, no thread-local, no
// order; whoever reads it knows from the lock's state whether it means anything (src/sched/wait_graph.h).
class holder_hint {
 public:
  void note() noexcept {
#if defined(__x86_64__)
    asm volatile("movl %%esp, %0" : "=m"(stack_));
#elif defined(__aarch64__)
    std::uint64_t scratch;
    asm volatile("mov %1, sp\n\tstr %w1, %0" : "=m"(stack_), "=&r"(scratch));
#endif
  }
  // Handed over to one that waits: something on its stack.
  void note(const void* on_its_stack) noexcept {
    const_cast<volatile std::uint32_t&>(stack_) =
        static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(on_its_stack));
  }
  std::uint32_t stack() const noexcept { return const_cast<const volatile std::uint32_t&>(stack_); }

 private:
  std::uint32_t stack_ = 0;
};

// Reads the state of primitives for reports (src/api/wait_facts.cc).
struct inspector;

}  // namespace weft::detail
