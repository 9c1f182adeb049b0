// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

// What a timer or a context calls: two words of plain data, and how to use them. A closure of up to two words that may
// be copied as bytes is kept in place, any other on the heap. So the whole can be passed on as bytes.
namespace weft::detail {

struct stored_function {
  struct operations {
    void (*call)(void* storage);
    void (*destroy)(void* storage) noexcept;  // null: there is nothing to do
  };
  const operations* use;
  alignas(void*) std::byte storage[2 * sizeof(void*)];

  void destroy() noexcept {
    if (use->destroy != nullptr) use->destroy(storage);
  }
};

template <class F>
inline constexpr bool is_plain_function =
    std::is_trivially_copyable_v<F> && sizeof(F) <= sizeof(stored_function::storage) && alignof(F) <= alignof(void*);

template <class F>
struct plain_function {
  static void call(void* storage) { static_cast<void>(std::invoke(*std::launder(static_cast<F*>(storage)))); }
  static constexpr stored_function::operations use{call, nullptr};
};

template <class F>
struct boxed_function {
  static F*& box(void* storage) noexcept { return *std::launder(static_cast<F**>(storage)); }
  static void call(void* storage) { static_cast<void>(std::invoke(*box(storage))); }
  static void destroy(void* storage) noexcept { delete box(storage); }
  static constexpr stored_function::operations use{call, destroy};
};

template <class F>
stored_function store_function(F&& f) {
  using closure = std::decay_t<F>;
  stored_function made;
  if constexpr (is_plain_function<closure>) {
    made.use = &plain_function<closure>::use;
    ::new (static_cast<void*>(made.storage)) closure(std::forward<F>(f));
  } else {
    made.use = &boxed_function<closure>::use;
    ::new (static_cast<void*>(made.storage)) closure*(new closure(std::forward<F>(f)));
  }
  return made;
}

}  // namespace weft::detail
