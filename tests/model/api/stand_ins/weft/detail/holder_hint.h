// SPDX-License-Identifier: MIT
#pragma once
#include "sched/wait/waiter.h"

// Stands in for include/weft/detail/holder_hint.h: there are no thread pointers in a model.
namespace weft::detail {

inline std::uint32_t self_hint() { return rl::thread_index() + 1; }

inline std::uint32_t begin_lock(std::uint32_t& free) {
  free = 0;
  return self_hint();
}
inline void switch_point() {}

// Nobody reads a report in a model; but who notes itself must be alone.
class holder_hint {
 public:
  constexpr holder_hint() noexcept {
    if (!std::is_constant_evaluated()) ::new (static_cast<void*>(storage_)) rl::var<unsigned>;
  }
  constexpr ~holder_hint() {
    if (!std::is_constant_evaluated()) std::destroy_at(&who());
  }
  void note(unsigned who_it_is) { who()(RL_INFO) = who_it_is; }

 private:
  rl::var<unsigned>& who() { return *std::launder(reinterpret_cast<rl::var<unsigned>*>(storage_)); }
  alignas(rl::var<unsigned>) std::byte storage_[sizeof(rl::var<unsigned>)]{};
};

}  // namespace weft::detail
