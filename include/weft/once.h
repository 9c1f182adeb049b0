// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "weft/detail/happens_before.h"
#include "weft/detail/holder_hint.h"
#include "weft/detail/wait_queue.h"

namespace weft {

// For call_once.
class once_flag {
 public:
  constexpr once_flag() noexcept = default;
  once_flag(const once_flag&) = delete;

 private:
  template <class F, class... A>
  friend void call_once(once_flag& flag, F&& f, A&&... arguments);

  enum class state : std::uint8_t { untouched, running, done };
  bool is_done() const noexcept {
    const bool is_over = state_.load(std::memory_order_acquire) == state::done;  // pairs: once.state
    if (is_over) detail::order_acquire(&state_);
    return is_over;
  }
  bool begin() noexcept;  // true: the caller must run the function
  void end(bool returned) noexcept;

  friend struct detail::inspector;
  std::atomic<state> state_{state::untouched};
  detail::holder_hint holder_;  // the goroutine that runs the function
  detail::wait_queue queue_;
};

// Runs f(arguments...) unless it has been run for this flag; blocks while another caller runs it. If f throws, the
// exception reaches that caller, and the next caller tries again.
template <class F, class... A>
void call_once(once_flag& flag, F&& f, A&&... arguments) {
  static_assert(std::is_invocable_v<F, A...>, "weft::call_once: the function cannot be called with these arguments");
  if constexpr (std::is_invocable_v<F, A...>) {
    if (flag.is_done() || !flag.begin()) return;
    struct guard {  // also for this_goroutine::exit()
      once_flag& flag;
      bool returned = false;
      ~guard() { flag.end(returned); }
    } end{flag};
    std::invoke(std::forward<F>(f), std::forward<A>(arguments)...);
    end.returned = true;
  }
}

}  // namespace weft
