// SPDX-License-Identifier: MIT
#pragma once
#include <type_traits>
#include <utility>

// What may be given to go, spawn, run and their like. They check it here first, so that a wrong function is refused
// with one sentence instead of pages from the inside of std::invoke. The code after the check stands in an `if
// constexpr`, so that the sentence is the only error.
namespace weft::detail {

// A function that is called once and then destroyed is called as an rvalue, as std::thread calls its own. A function
// that refuses that is called as an lvalue.
template <class F, class... A>
concept callable_as = requires(F f, A... arguments) { std::forward<F>(f)(std::forward<A>(arguments)...); };
template <class F, class... A>
inline constexpr bool is_callable_last = callable_as<F&&, A...> || callable_as<F&, A...>;

template <class F, class... A>
decltype(auto) call_last(F& f, A&&... arguments) {
  if constexpr (callable_as<F&&, A...>) {
    return static_cast<F&&>(f)(std::forward<A>(arguments)...);
  } else {
    return f(std::forward<A>(arguments)...);
  }
}

// The function and its arguments are decay-copied, as std::thread's are.
template <class F, class... A>
inline constexpr bool is_kept =
    std::is_constructible_v<std::decay_t<F>, F> && (std::is_constructible_v<std::decay_t<A>, A> && ...);
template <class F, class... A>
inline constexpr bool is_called_with =
    sizeof...(A) == 0 ? is_callable_last<std::decay_t<F>> : std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>;
// A function that may be called more than once.
template <class F>
inline constexpr bool is_repeatable = is_kept<F> && std::is_invocable_v<std::decay_t<F>&>;
template <class F, class... A>
inline constexpr bool is_startable = is_kept<F, A...> && is_called_with<F, A...>;

template <class F, class... A>
struct result_of_start {  // void where nothing can be started
  using type = void;
};
template <class F, class... A>
  requires(sizeof...(A) != 0 && is_startable<F, A...>)
struct result_of_start<F, A...> {
  using type = std::invoke_result_t<std::decay_t<F>, std::decay_t<A>...>;
};
template <class F>
  requires is_startable<F>
struct result_of_start<F> {
  using type = decltype(call_last(std::declval<std::decay_t<F>&>()));
};

// Whether join() can hand over a T.
template <class T>
inline constexpr bool is_deliverable = std::is_void_v<T> || std::is_reference_v<T> || std::is_move_constructible_v<T>;

}  // namespace weft::detail

// For the body of a template that starts F with A...
#define WEFT_REFUSE_UNSTARTABLE(name, F, A)                                                                         \
  static_assert(::weft::detail::is_kept<F, A>, name                                                                 \
                ": the function and its arguments are copied, and one of these cannot be copied: std::move it in"); \
  static_assert(!::weft::detail::is_kept<F, A> || ::weft::detail::is_called_with<F, A>, name                        \
                ": the function cannot be called with these arguments; it gets copies of them, as rvalues: take "   \
                "them by value, and pass std::ref(x) where it is to change x itself")
#define WEFT_REFUSE_UNDELIVERABLE(name, T) \
  static_assert(                           \
      ::weft::detail::is_deliverable<T>,   \
      name ": the result must be void, a reference, or an object that can be moved; return a std::unique_ptr to it")
#define WEFT_REFUSE_UNGROUPABLE(name, F)                                                                   \
  static_assert(::weft::detail::is_startable<F>, name                                                      \
                ": the function must be callable without arguments, and copied or moved in: give it what " \
                "it needs by capturing it in a lambda")
