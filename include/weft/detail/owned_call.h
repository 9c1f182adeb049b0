// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

namespace weft::detail {

// What a goroutine runs that somebody waits for: a task, a wait group. The owner is told of the end when the function is gone with all it has
// captured: who waits for the goroutine waits for these destructors, too. (For those of the goroutine's locals the owner sees to it.)
//   Owner   call_for(owner, function) calls it; end_of_call(owner), noexcept, is told.
template <class Owner, class F>
class owned_call {
 public:
  template <class G>
  owned_call(Owner* owner, G&& f) : owner_(owner), function_(std::forward<G>(f)) {}
  owned_call(owned_call&& other) noexcept(std::is_nothrow_move_constructible_v<F>)
      : owner_(other.owner_), function_(std::move(other.function_)) {}
  ~owned_call() {
    if (owner_ != nullptr) std::destroy_at(std::addressof(function_));
  }
  void operator()() {
    struct at_end {  // also when this_goroutine::exit() unwinds
      owned_call& call;
      Owner* owner = call.owner_;
      ~at_end() {
        std::destroy_at(std::addressof(call.function_));
        call.owner_ = nullptr;
        end_of_call(owner);
      }
    } end{*this};
    call_for(owner_, function_);
  }

 private:
  Owner* owner_;  // null: it has run
  union {
    F function_;
  };
};

}  // namespace weft::detail
