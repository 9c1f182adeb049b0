// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "api/context_state.h"

// How long a context stays: references and lingering (context_state.h).
namespace weft::detail {
namespace {

enum class Reference : std::uint8_t {
  kHandle,
  kHold,
  kHandleThatStays,  // becomes a hold: the child has lost its own last handle, but stays
};

std::uint64_t settle(context_state* state, std::uint32_t holds) noexcept;

void give_back(context_state* state, Reference given) noexcept {
  using State = context_state;
  while (state != nullptr) {  // a loop: chains of contexts are longer than stacks are deep
    State* parent = state->parent;
    order_release(&state->references);
    std::uint64_t change = given == Reference::kHold ? -State::kHold : -State::kHandle;
    if (given == Reference::kHandleThatStays) change += State::kHold;
    bool was_last_handle = false;
    std::uint64_t before = state->references.load_acquire();  // pairs: context.references
    do {
      const bool is_last_handle = given != Reference::kHold && State::handles(before) == 1;
      if (is_last_handle && !was_last_handle) change += settle(state, State::holds(before + change));
      was_last_handle = is_last_handle;  // and stays so
    } while (!state->references.cas_acq_rel(before, before + change));  // pairs: context.references
    if (before + change == 0) {
      order_acquire(&state->references);
      delete state;
      if (given == Reference::kHandleThatStays) given = Reference::kHandle;
    } else if (was_last_handle) {
      given = Reference::kHandleThatStays;
    } else {
      return;
    }
    state = parent;
  }
}

}  // namespace

void release_hold(context_state* state) noexcept { give_back(state, Reference::kHold); }

bool take_lingering(context_state* state) noexcept {
  std::lock_guard guard(state->lock);
  return std::exchange(state->lingers, false);
}

namespace {

// Contexts that linger only for a channel or a stop token. No event says that the last of these has gone. So the list
// is searched when it has become twice as long as it was after the last search. Without handles no new channels and
// tokens are made.
class Lingering {
 public:
  void add(context_state* state) noexcept {
    context_state* unwanted = nullptr;
    {
      std::lock_guard guard(lock_);
      link(state, &first_);
      if (++count_ >= look_at_) {
        unwanted = take_unwanted();
        look_at_ = std::max(kFew, 2 * count_);
      }
    }
    while (unwanted != nullptr) {
      context_state* one = std::exchange(unwanted, unwanted->after);
      if (take_lingering(one)) release_hold(one);
      release_hold(one);
    }
  }
  void remove(context_state* state) noexcept {
    std::lock_guard guard(lock_);
    if (state->at != nullptr) unlink(state);
  }

 private:
  static constexpr std::size_t kFew = 8;
  static bool is_unwanted(const context_state* state) noexcept {
    return state->references.load_acquire() == context_state::kHold &&  // pairs: context.references
           state->done.core()->has_one_handle() && !state->is_token_held();
  }
  static void link(context_state* state, context_state** at) noexcept {
    state->after = *at;
    state->at = at;
    if (state->after != nullptr) state->after->at = &state->after;
    *at = state;
  }
  void unlink(context_state* state) noexcept {
    *state->at = state->after;
    if (state->after != nullptr) state->after->at = state->at;
    state->at = nullptr;
    --count_;
    if (count_ < look_at_ / 4) look_at_ = std::max(kFew, look_at_ / 2);
  }
  // Each with a hold.
  context_state* take_unwanted() noexcept {
    context_state* taken = nullptr;
    for (context_state *state = first_, *after; state != nullptr; state = after) {
      after = state->after;
      if (!is_unwanted(state)) continue;
      unlink(state);
      if (!state->try_hold()) continue;  // it is being destroyed, and waits for this lock
      state->after = std::exchange(taken, state);
    }
    return taken;
  }

  os::RankedMutex<base::Rank::kContext> lock_;
  context_state* first_ = nullptr;
  std::size_t count_ = 0, look_at_ = kFew;
};
constinit Lingering lingering;

// No handle of root is left, and nothing can cancel it. So nothing can cancel the contexts below, which all linger,
// unless they have an end of their own.
void abandon_below(context_state* root) noexcept {
  TakenContexts taken;
  const auto is_lost = [](const context_state* state) {
    return !state->is_cancelled() && !state->has_own_end();
  };
  {
    std::lock_guard guard(root->lock);
    taken.add_all_below(root);
  }
  for (context_state* state = taken.first(); state != nullptr; state = state->next) {
    std::lock_guard guard(state->lock);
    if (is_lost(state)) taken.add_all_below(state);
  }
  for (context_state* state = taken.first(); state != nullptr;) {
    context_state* next = state->next;
    bool lingered = false;
    {
      std::lock_guard guard(state->lock);
      if (is_lost(state)) lingered = std::exchange(state->lingers, false);
    }
    if (lingered) release_hold(state);
    release_hold(state);
    state = next;
  }
}

// The last handle goes; `holds` is the number that will remain. Returns the hold that a lingering context gets, or 0.
std::uint64_t settle(context_state* state, std::uint32_t holds) noexcept {
  if (!state->cancellable || state->is_cancelled()) return 0;
  const bool is_waited_for = !state->done.core()->has_one_handle();
  if (!is_waited_for && !state->had_listeners && holds == 0) return 0;  // the usual case, without the lock
  bool lingers = false, can_be_cancelled = false;
  {
    std::lock_guard guard(state->lock);
    if (state->is_cancelled()) return 0;
    if (state->can_be_cancelled()) {
      const bool has_functions = !state->hooks.empty();
      lingers = is_waited_for || has_functions || state->is_token_held();
      state->lingers = lingers;
      state->may_be_unwanted = lingers && !has_functions;
      can_be_cancelled = true;
    }
  }
  if (!can_be_cancelled) abandon_below(state);
  if (state->may_be_unwanted) lingering.add(state);
  return lingers ? context_state::kHold : 0;
}

}  // namespace

void context_state::leave_lingering() noexcept { lingering.remove(this); }

void retain_context(context_state* state) noexcept { state->references.fetch_add_relaxed(context_state::kHandle); }

void release_context(context_state* state) noexcept { give_back(state, Reference::kHandle); }

}  // namespace weft::detail
