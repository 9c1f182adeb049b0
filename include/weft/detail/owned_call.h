// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

namespace weft::detail {

// The function of a goroutine that an owner waits for: a task, a wait group. The owner is told of the end after the
// function has been destroyed, with all it has captured. So a wait for the goroutine waits for these destructors, too.
// (The owner sees to the destructors of the goroutine's locals.)
//   Owner   call_for(owner, function) calls the function; end_of_call(owner), which is noexcept, is told of the end.
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
