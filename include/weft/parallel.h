// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/detail/parallel_work.h"

// Loops whose iterations run at the same time.
//   Splitting  Ranges are split when another processor has nothing to do, and pieces are made long enough by the clock
//              to hide the cost of taking one. So neither short nor uneven iterations need a grain.
//   Width      At most runtime::maxprocs() goroutines work for one call, the caller among them. Called from a plain
//              thread, f runs in goroutines, and the thread blocks. Calls may nest.
//   Errors     The first exception of f ends the loop and is rethrown: no piece begins after it, and none runs any more
//              when the call has returned. If f leaves by this_goroutine::exit(), goroutine_exited is thrown.
//   Order      What happened before the call happens before each f; each f happens before the call returns.
namespace weft {

struct parallel_options {
  // The least number of indices that are run together, counted from the beginning. Only for loops that need it, as
  // where neighbours share a cache line. 0 counts as 1.
  std::size_t grain = 1;
};

namespace detail {

template <class F>
inline constexpr bool takes_index = std::is_invocable_v<F&, std::size_t>;
template <class F>
inline constexpr bool takes_range = std::is_invocable_v<F&, std::size_t, std::size_t>;

// A function of int is welcome, whatever the user's warnings say of the conversion here.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
template <class F>
decltype(auto) call_piece(F& f, std::size_t first, std::size_t last) {
  return f(first, last);
}
template <class F>
decltype(auto) call_index(F& f, std::size_t i) {
  return f(i);
}
template <class F, class T>
T call_fold(F& f, std::size_t first, std::size_t last, T&& value) {
  return f(first, last, std::move(value));
}
#pragma GCC diagnostic pop

template <class F>
void run_piece(F& f, std::size_t first, std::size_t last) {
  if constexpr (takes_range<F>) {
    call_piece(f, first, last);
  } else {
    for (std::size_t i = first; i < last; ++i) call_index(f, i);
  }
}

template <class F, class T>
inline constexpr bool folds_range = std::is_invocable_r_v<T, F&, std::size_t, std::size_t, T>;
template <class F, class T, class R>
inline constexpr bool is_reducible =
    std::copy_constructible<T> && std::is_assignable_v<T&, T> && std::is_invocable_r_v<T, R&, T, T> &&
    (folds_range<F, T> || std::is_invocable_r_v<T, F&, std::size_t, std::size_t> ||
     std::is_invocable_r_v<T, F&, std::size_t>);

// The values of a parallel_reduce: one for each piece of the range that a worker has run through without a gap.
template <class T, class F, class R>
class reduction {
 public:
  reduction(const T& identity, F& f, R& combine, unsigned width)
      : identity_(identity), f_(f), combine_(combine), lanes_(width) {}

  static void run(void* self, unsigned worker, bool fresh, std::size_t first, std::size_t last) {
    auto& all = *static_cast<reduction*>(self);
    std::vector<piece>& pieces = all.lanes_[worker].pieces;
    if (fresh) pieces.push_back({first, all.identity_});
    all.add(pieces.back().value, first, last);
  }

  T result() {
    std::vector<piece> pieces;
    for (lane& each : lanes_) std::move(each.pieces.begin(), each.pieces.end(), std::back_inserter(pieces));
    if (pieces.empty()) return identity_;
    std::sort(pieces.begin(), pieces.end(), [](const piece& a, const piece& b) { return a.first < b.first; });
    T value = std::move(pieces.front().value);
    for (std::size_t i = 1; i < pieces.size(); ++i) value = combine_(std::move(value), std::move(pieces[i].value));
    return value;
  }

 private:
  struct piece {
    std::size_t first;
    T value;
  };
  struct alignas(64) lane {  // a worker's own
    std::vector<piece> pieces;
  };
  void add(T& kept, std::size_t first, std::size_t last) {
    T value = std::move(kept);  // a local variable, which the compiler may keep in a register
    if constexpr (folds_range<F, T>) {
      value = call_fold(f_, first, last, std::move(value));
    } else if constexpr (takes_range<F>) {
      value = combine_(std::move(value), call_piece(f_, first, last));
    } else {
      for (std::size_t i = first; i < last; ++i) value = combine_(std::move(value), call_index(f_, i));
    }
    kept = std::move(value);
  }

  const T& identity_;
  F& f_;
  R& combine_;
  std::vector<lane> lanes_;
};

}  // namespace detail

// Calls f(i) for each i from `begin` to `end - 1`, or f(first, last) for pieces of that range if f takes two numbers.
// No index if end <= begin.
template <class F>
void parallel_for(const parallel_options& options, std::size_t begin, std::size_t end, F&& f) {
  using G = std::remove_reference_t<F>;
  static_assert(detail::takes_index<G> || detail::takes_range<G>,
                "weft::parallel_for: the function must be callable with an index, or with the first index of a piece "
                "and the one behind its last, both std::size_t");
  if constexpr (detail::takes_index<G> || detail::takes_range<G>) {
    const auto run = [](void* self, unsigned, bool, std::size_t first, std::size_t last) {
      detail::run_piece(**static_cast<G**>(self), first, last);
    };
    G* function = &f;
    detail::run_parallel({begin, end, options.grain, detail::parallel_width(), run, &function});
  }
}
template <class F>
void parallel_for(std::size_t begin, std::size_t end, F&& f) {
  parallel_for(parallel_options{}, begin, end, f);
}
template <class F>
void parallel_for(std::size_t begin, std::size_t end, const parallel_options& options, F&& f) {
  parallel_for(options, begin, end, f);
}
template <class F>
void parallel_for(std::size_t begin, std::size_t end, F&& f, const parallel_options& options) {
  parallel_for(options, begin, end, f);
}

// Joins the values of all indices: combine(combine(identity, f(begin)), f(begin + 1)) and so on, but with parentheses
// anywhere, and with more copies of `identity` at the beginning of pieces. `combine` must be associative; the order of
// its arguments is kept, so it need not be commutative. (Sums of floating-point numbers may differ a little from call
// to call.) f may be
//   f(i) -> T                    the value of an index;
//   f(first, last) -> T          the value of a piece, already joined;
//   f(first, last, T) -> T       the given value joined with that of a piece: for loops that keep their sum in a variable.
template <class T, class F, class R>
T parallel_reduce(const parallel_options& options, std::size_t begin, std::size_t end, T identity, F&& f, R&& combine) {
  using G = std::remove_reference_t<F>;
  using C = std::remove_reference_t<R>;
  static_assert(detail::is_reducible<G, T, C>,
                "weft::parallel_reduce: T must be copyable, f callable with an index, with (first, last) or with "
                "(first, last, T), combine with two T, and each must return a T");
  if constexpr (detail::is_reducible<G, T, C>) {
    const unsigned width = detail::parallel_width();
    detail::reduction<T, G, C> all(identity, f, combine, width);
    detail::run_parallel({begin, end, options.grain, width, &detail::reduction<T, G, C>::run, &all});
    return all.result();
  } else {
    return identity;
  }
}
template <class T, class F, class R>
T parallel_reduce(std::size_t begin, std::size_t end, T identity, F&& f, R&& combine) {
  return parallel_reduce(parallel_options{}, begin, end, std::move(identity), f, combine);
}
template <class T, class F, class R>
T parallel_reduce(std::size_t begin, std::size_t end, const parallel_options& options, T identity, F&& f, R&& combine) {
  return parallel_reduce(options, begin, end, std::move(identity), f, combine);
}
template <class T, class F, class R>
T parallel_reduce(std::size_t begin, std::size_t end, T identity, F&& f, R&& combine, const parallel_options& options) {
  return parallel_reduce(options, begin, end, std::move(identity), f, combine);
}

}  // namespace weft
