// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/detail/callable.h"
#include "weft/detail/happens_before.h"
#include "weft/detail/spawn_record.h"
#include "weft/error.h"

namespace weft::sched {
struct GangForce;
}

// From a callable to a spawn record. A closure of up to six words goes into the record itself, a larger one to the
// heap.
namespace weft {

struct go_options {
  std::string name{};          // shown in dumps and traces
  std::size_t stack_size = 0;  // bytes; 0: the default
  bool idle = false;           // runs only when nothing else can
};

namespace detail {

#if defined(__GNUC__)
#define WEFT_ALWAYS_INLINE __attribute__((always_inline)) inline
#else
#define WEFT_ALWAYS_INLINE inline
#endif

// --- the library's side (src/api/launch.cc) ---

struct prepared_record {
  spawn_record* record;
  bool has_extra;  // the first word of the closure points to a SpawnExtra
};
// Starts the runtime if need be. Throws std::bad_alloc.
prepared_record prepare_record();
prepared_record prepare_record(const go_options& options);
// For a member of a task force (task_force.h).
prepared_record prepare_member(const go_options& options, sched::GangForce& force);
// The same as prepare_record() together with a 64-byte block for the shared state of a task, in one call.
struct prepared_task {
  prepared_record spawn;
  void* block;  // null: the state does not fit
};
prepared_task prepare_task(std::size_t state_size);
prepared_task prepare_task(const go_options& options, std::size_t state_size);
// For run(): its goroutine has the stack of a main thread.
prepared_task prepare_main_task(std::size_t state_size);
void abandon_record(prepared_record prepared) noexcept;
void launch_record(prepared_record prepared) noexcept;
// Gives this id to the goroutine of an extended record.
void give_id(prepared_record prepared, std::uint64_t id) noexcept;
// Entry of a closure whose own entry is out of 32-bit reach: {function, pointer}.
void far_entry(spawn_record* record);
// Frees the SpawnExtra of a record that is about to run.
void release_extra(spawn_record* record) noexcept;

// --- encoding of code addresses ---

inline bool encode_code_address(const void* address, std::int32_t& distance) noexcept {
  const std::intptr_t wide = reinterpret_cast<std::intptr_t>(address) - reinterpret_cast<std::intptr_t>(&spawn_anchor);
  distance = static_cast<std::int32_t>(wide);
  return distance == wide;
}

// Where the inlined call stands in the user's code: an address inside one of its instructions. Volatile, because
// without inputs these statements look alike, and a compiler that meets several in one function would keep the first
// one's answer for all.
WEFT_ALWAYS_INLINE const void* here() noexcept {
  const void* address = nullptr;
#if defined(__x86_64__)
  asm volatile("leaq -1(%%rip), %0" : "=r"(address));
#elif defined(__aarch64__)
  asm volatile("adr %0, ." : "=r"(address));
#endif
  return address;
}

// A code address as a record keeps it; 0: out of reach.
inline std::int32_t site_at(const void* address) noexcept {
  std::int32_t site;
  return encode_code_address(address, site) ? site : 0;
}

// --- closures ---

template <class C>
void run_and_destroy(C* closure) {
  struct guard {  // also when this_goroutine::exit() unwinds
    C* closure;
    ~guard() { std::destroy_at(closure); }
  } destroy{closure};
  call_last(*closure);
}

template <class C>
void run_and_delete(void* box) {
  std::unique_ptr<C> owner(static_cast<C*>(box));
  call_last(*owner);
}

template <class C, std::size_t Offset>
void inline_entry(spawn_record* record) {
  if constexpr (Offset != 0) release_extra(record);
  run_and_destroy(std::launder(reinterpret_cast<C*>(record->closure + Offset)));
}

template <class C, std::size_t Offset>
void boxed_entry(spawn_record* record) {
  void* box;
  std::memcpy(&box, record->closure + Offset, sizeof box);
  if constexpr (Offset != 0) release_extra(record);
  run_and_delete<C>(box);
}

template <class C, std::size_t Offset>
inline constexpr bool fits_inline =
    sizeof(C) <= sizeof(spawn_record::closure) - Offset && alignof(C) <= (Offset == 0 ? 16 : 8);

template <std::size_t Offset, class C>
void fill_record(spawn_record* record, C&& closure) {
  using closure_type = std::decay_t<C>;
  constexpr bool is_inline = fits_inline<closure_type, Offset>;
  const spawn_entry entry = is_inline        ? &inline_entry < closure_type,
                    is_inline ? Offset : 0 > : &boxed_entry<closure_type, Offset>;
  if (encode_code_address(reinterpret_cast<const void*>(entry), record->entry)) [[likely]] {
    if constexpr (is_inline) {
      ::new (static_cast<void*>(record->closure + Offset)) closure_type(std::forward<C>(closure));
    } else {
      void* box = new closure_type(std::forward<C>(closure));
      std::memcpy(record->closure + Offset, &box, sizeof box);
    }
    return;
  }
  // The code is in a shared library far from the runtime.
  void* box = new closure_type(std::forward<C>(closure));
  void (*run)(void*) = &run_and_delete<closure_type>;
  std::memcpy(record->closure + 8, &run, sizeof run);
  std::memcpy(record->closure + 16, &box, sizeof box);
  const bool has_extra = Offset != 0;
  std::memcpy(record->closure + 24, &has_extra, sizeof has_extra);
  encode_code_address(reinterpret_cast<const void*>(&far_entry), record->entry);
}

template <class C>
WEFT_ALWAYS_INLINE void launch_from(std::int32_t site, prepared_record prepared, C&& closure) {
  struct guard {
    prepared_record prepared;
    bool armed = true;
    ~guard() {
      if (armed) abandon_record(prepared);
    }
  } undo{prepared};
  prepared.record->site = site;
  if (prepared.has_extra) [[unlikely]] {
    fill_record<8>(prepared.record, std::forward<C>(closure));
  } else {
    fill_record<0>(prepared.record, std::forward<C>(closure));
  }
  undo.armed = false;
  order_release(prepared.record);
  launch_record(prepared);
}
template <class C>
WEFT_ALWAYS_INLINE void launch(prepared_record prepared, C&& closure) {
  launch_from(site_at(here()), prepared, std::forward<C>(closure));
}

// An empty std::function or a null function pointer is refused where the goroutine is started, not where it would run.
[[noreturn]] void throw_empty_function(const char* starter);
template <class F>
void refuse_empty(const F& f, const char* starter) {
  if constexpr (std::is_function_v<F>) {
    // A function given by its name is never null, and compilers warn about the comparison.
  } else if constexpr (std::is_pointer_v<F> || std::is_member_pointer_v<F>) {
    if (f == nullptr) throw_empty_function(starter);
  } else if constexpr (requires { static_cast<bool>(f == nullptr); }) {
    if (f == nullptr) throw_empty_function(starter);
  }
}

// f with its arguments, decay-copied.
template <class F, class... A>
auto bind(F&& f, A&&... arguments) {
  if constexpr (sizeof...(A) == 0) {
    return std::decay_t<F>(std::forward<F>(f));
  } else {
    return [f = std::decay_t<F>(std::forward<F>(f)),
            bound = std::tuple<std::decay_t<A>...>(std::forward<A>(arguments)...)]() mutable -> decltype(auto) {
      return std::apply(
          [&f](auto&&... unbound) -> decltype(auto) { return std::invoke(std::move(f), std::move(unbound)...); },
          std::move(bound));
    };
  }
}

}  // namespace detail
}  // namespace weft
