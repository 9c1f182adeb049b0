// SPDX-License-Identifier: MIT
#include "weft/context.h"

#include <mutex>
#include <vector>

#include "api/context_state.h"
#include "sched/wait/wait_queue.h"
#include "weft/go.h"

// Making contexts, and cancelling them (context_state.h).
namespace weft::detail {
namespace {

// The goroutine counts as started where the function was registered, not where the context was cancelled.
void start(const std::shared_ptr<context_hook>& hook) {
  launch_from(hook->site, prepare_record(), [hook] { hook->run(); });
}

context_state* nearest_cancellable(context_state* state) noexcept {
  while (state != nullptr && !state->cancellable) state = state->shielded ? nullptr : state->parent;
  return state;
}

// The contexts that a cancellation has reached.
class Reached {
 public:
  Reached(context_state* root, std::error_code error, const std::exception_ptr& cause) : root_(root) {
    if (!decide(root, error, cause)) return;
    for (context_state* state = taken_.first(); state != nullptr; state = state->next)
      decide(state, error, root->cause);
    decided_ = true;
  }
  // Runs the user's code, which may park.
  void notify() const {
    if (!decided_) return;
    notify(root_);
    for (context_state* state = taken_.first(); state != nullptr;) {
      context_state* next = state->next;
      notify(state);
      release_hold(state);
      state = next;
    }
  }

 private:
  // False: it was cancelled before.
  bool decide(context_state* state, std::error_code error, const std::exception_ptr& cause) {
    timer limit;
    sched::WaitList receivers;
    {
      std::lock_guard guard(state->lock);
      if (state->is_cancelled()) return false;
      state->error = error;
      state->cause = cause != nullptr ? cause : std::make_exception_ptr(std::system_error(error, "weft: context"));
      for (const std::shared_ptr<context_hook>& hook : state->hooks) hook->index = SIZE_MAX;
      state->done.core()->close_silently(receivers);  // from now on everybody sees it
      std::swap(limit, state->limit);
      taken_.add_all_below(state);
      while (context_watch* watch = state->watches) {
        state->watches = watch->next;
        if (watch->next != nullptr) watch->next->previous = nullptr;
        watch->linked = false;
        watch->fired(watch);
      }
      state->let_go.store_release(true);  // pairs: context.let_go
    }
    sched::wake_all(receivers);
    if (limit) limit.stop();
    return true;
  }

  static void notify(context_state* state) {
    std::vector<std::shared_ptr<context_hook>> hooks;
    {
      // A context that is cancelled directly and from above at the same time is notified twice.
      std::lock_guard guard(state->lock);
      hooks.swap(state->hooks);
    }
    for (const std::shared_ptr<context_hook>& hook : hooks) {
      try {
        start(hook);
      } catch (const std::bad_alloc&) {
        hook->run();
      }
    }
    hooks.clear();
    std::optional<std::stop_source> stop;
    {
      std::lock_guard guard(state->lock);
      stop = state->stop;
    }
    if (stop) sched::request_stop_by_user(stop);
    if (take_lingering(state)) release_hold(state);
  }

  context_state* root_;
  TakenContexts taken_;
  bool decided_ = false;
};

// The context behind a link, with a hold; null: the context is gone.
context_state* follow(ContextLink& link) noexcept {
  std::lock_guard guard(link.lock);
  return link.state != nullptr && link.state->try_hold() ? link.state : nullptr;
}

// Called by the thread that requests the stop. Inside the stop source this call must not park, and the context must not
// end. So the part that may do either runs in a goroutine.
void cancel_by_stop(void* link) noexcept {
  context_state* state = follow(*static_cast<ContextLink*>(link));
  if (state == nullptr) return;
  const auto finish = [state, reached = Reached(state, std::make_error_code(std::errc::operation_canceled), nullptr)] {
    reached.notify();
    release_hold(state);
  };
  try {
    go(finish);
  } catch (const std::bad_alloc&) {
    finish();
  }
}

void link_to(context_state* state) {
  state->link = std::make_shared<ContextLink>();
  state->link->state = state;
}

void set_limit(context_state* state, const time_limit& wanted);

void end_by_limit(context_state* state, const time_limit& limit) {
  cancel_context(state, std::make_error_code(std::errc::timed_out), limit.cause);
}

// What the timer of a limit runs. The timer is never early by the steady clock. By another clock it may be, so
// set_limit() looks.
struct LimitReached {
  std::shared_ptr<ContextLink> link;
  time_limit wanted;
  void operator()() const {
    context_state* alive = follow(*link);
    if (alive == nullptr) return;
    wanted.again ? set_limit(alive, wanted) : end_by_limit(alive, wanted);
    release_hold(alive);
  }
};

void set_limit(context_state* state, const time_limit& wanted) {
  const std::int64_t now = deadline_at(std::chrono::steady_clock::now());
  std::int64_t deadline_ns = wanted.deadline_ns;
  if (deadline_ns <= now && wanted.again) deadline_ns = wanted.again();
  if (deadline_ns <= now) return end_by_limit(state, wanted);
  if (state->link == nullptr) link_to(state);  // the first time: no other thread can see the context yet
  timer limit(std::chrono::nanoseconds(deadline_ns - now),
              LimitReached{state->link, {deadline_ns, wanted.cause, wanted.again}});
  {
    std::lock_guard guard(state->lock);
    if (!state->is_cancelled()) {  // the parent's cancellation may have come first
      std::swap(state->limit, limit);
      return;
    }
  }
  limit.stop();
}

// False: the parent has been cancelled already.
bool join_parent(context_state* child) {
  std::lock_guard guard(child->above->lock);
  if (child->above->is_cancelled()) return false;
  std::vector<context_state*>& children = child->above->children;
  children.push_back(child);
  child->index_in_parent = children.size() - 1;
  return true;
}

}  // namespace

void cancel_context(context_state* state, std::error_code error, std::exception_ptr cause) {
  if (state == nullptr) return;
  state->references.fetch_add_relaxed(context_state::kHold);  // a notified function may drop the handle used here
  Reached(state, error, cause).notify();
  release_hold(state);
}

bool watch_context(const context& watched, context_watch& watch) {
  watch.on = nearest_cancellable(watched.state_);
  if (watch.on == nullptr) return true;  // never cancelled
  context_state& state = *watch.on;
  std::lock_guard guard(state.lock);
  if (state.is_cancelled()) return false;
  watch.previous = nullptr;
  watch.next = state.watches;
  if (watch.next != nullptr) watch.next->previous = &watch;
  state.watches = &watch;
  watch.linked = true;
  return true;
}

void unwatch_context(context_watch& watch) noexcept {
  if (watch.on == nullptr) return;
  std::lock_guard guard(watch.on->lock);
  if (!watch.linked) return;
  if (watch.previous != nullptr) {
    watch.previous->next = watch.next;
  } else {
    watch.on->watches = watch.next;
  }
  if (watch.next != nullptr) watch.next->previous = watch.previous;
  watch.linked = false;
}

context make_cancellable(const context& parent, time_limit limit) {
  auto* state = new context_state;
  context made(state);
  state->done = chan<std::monostate>();
  state->cancellable = true;  // not without a channel, because release_context() looks there
  state->done.core()->give_to_context();
  state->parent = parent.state_;
  if (state->parent != nullptr) retain_context(state->parent);
  state->above = nearest_cancellable(state->parent);
  const std::int64_t inherited = state->above != nullptr ? state->above->deadline_ns : forever;
  state->deadline_ns = std::min(limit.deadline_ns, inherited);
  // By another clock, the limit above may turn out to be later than estimated. Then it is not sure to come first.
  const bool is_estimated_above = state->above != nullptr && state->above->is_deadline_estimated;
  const bool is_own = limit.deadline_ns < inherited || (is_estimated_above && limit.deadline_ns != forever);
  state->is_deadline_estimated = is_estimated_above || limit.again != nullptr;
  if (state->above != nullptr && !join_parent(state)) {
    cancel_context(state, state->above->error, state->above->cause);
  } else if (is_own) {
    set_limit(state, limit);
  }
  return made;
}

context make_stoppable(const context& parent, std::stop_token token) {
  context made = make_cancellable(parent, {});
  if (!token.stop_possible()) return made;
  link_to(made.state_);
  made.state_->on_stop.begin(std::move(token), cancel_by_stop, made.state_->link);
  return made;
}

context make_value_context(const context& parent, const std::type_info& type, std::shared_ptr<const void> value) {
  context made(new context_state);
  made.state_->parent = parent.state_;
  if (parent.state_ != nullptr) retain_context(parent.state_);
  made.state_->type = &type;
  made.state_->value = std::move(value);
  return made;
}

context make_uncancellable(const context& parent) {
  context made = make_value_context(parent, typeid(void), nullptr);
  made.state_->type = nullptr;
  made.state_->shielded = true;
  return made;
}

namespace {
std::shared_ptr<context_hook> make_hook(stored_function function, std::int32_t site) {
  try {
    return std::make_shared<context_hook>(function, site);
  } catch (const std::bad_alloc&) {
    function.destroy();
    throw;
  }
}
}  // namespace

context_callback call_when_cancelled(const context& when, stored_function function, std::int32_t site) {
  std::shared_ptr<context_hook> hook = make_hook(function, site);
  order_release(hook.get());
  context_state* state = nearest_cancellable(when.state_);
  bool too_late = false;
  if (state == nullptr) {
    hook->index = 0;  // for stop()'s answer
  } else {
    std::lock_guard guard(state->lock);
    too_late = state->is_cancelled();
    if (!too_late) {
      state->hooks.push_back(hook);
      hook->index = state->hooks.size() - 1;
      state->had_listeners = true;
    }
  }
  if (too_late) start(hook);
  return context_callback(when, std::move(hook));
}

}  // namespace weft::detail

namespace weft {

using detail::nearest_cancellable;

bool context_callback::stop() const {
  detail::context_state* state = nearest_cancellable(when_.state_);
  if (state == nullptr) return std::exchange(hook_->index, SIZE_MAX) != SIZE_MAX;
  std::lock_guard guard(state->lock);
  const std::size_t index = std::exchange(hook_->index, SIZE_MAX);
  if (index == SIZE_MAX) return false;
  if (index != state->hooks.size() - 1) {
    state->hooks[index] = std::move(state->hooks.back());
    state->hooks[index]->index = index;
  }
  state->hooks.pop_back();
  return true;
}

chan<std::monostate> context::done() const {
  const detail::context_state* state = nearest_cancellable(state_);
  return state != nullptr ? state->done : chan<std::monostate>::nil();
}

bool context::cancelled() const noexcept {
  const detail::context_state* state = nearest_cancellable(state_);
  return state != nullptr && state->is_cancelled();
}

std::error_code context::err() const {
  const detail::context_state* state = nearest_cancellable(state_);
  if (state == nullptr || !state->is_cancelled()) return {};
  return state->error;
}

std::exception_ptr context::cause() const {
  const detail::context_state* state = nearest_cancellable(state_);
  if (state == nullptr || !state->is_cancelled()) return nullptr;
  return state->cause;
}

std::optional<time_point> context::deadline() const {
  const detail::context_state* state = nearest_cancellable(state_);
  if (state == nullptr || state->deadline_ns == detail::forever) return std::nullopt;
  return time_point(std::chrono::nanoseconds(state->deadline_ns));
}

std::stop_token context::stop_token() const {
  detail::context_state* state = nearest_cancellable(state_);
  if (state == nullptr) return {};
  std::stop_token token;
  std::optional<std::stop_source> late;
  {
    std::lock_guard guard(state->lock);
    if (!state->stop) state->stop.emplace();
    state->had_listeners = true;
    token = state->stop->get_token();
    if (state->is_cancelled()) late = state->stop;
  }
  if (late) sched::request_stop_by_user(late);  // the cancellation may have looked before there was a source
  return token;
}

const void* context::find_value(const std::type_info& type) const noexcept {
  for (const detail::context_state* state = state_; state != nullptr; state = state->parent)
    if (state->type != nullptr && *state->type == type) return state->value.get();
  return nullptr;
}

}  // namespace weft
