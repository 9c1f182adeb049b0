// SPDX-License-Identifier: MIT
#include "weft/context.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "api/context_watch.h"
#include "base/atomic.h"
#include "os/ranked_mutex.h"
#include "sched/user_call.h"
#include "weft/go.h"
#include "weft/time.h"

// Contexts.
//   Tree       a child counts as a reference to its parent; a parent knows its cancellable children only by their addresses,
//              which are good while its lock is held: a dying child takes itself off the list first.
//   Cancel     1 decided once under each context's lock: flag, cause, channel; its children join the list of those still to do.
//              2 with all of them decided, what may run the user's code: stop sources, functions. Nothing is allocated before
//              that, no lock is held while another is taken, and no call is nested: any number of children, any depth.
//   Time limit a function timer that knows the context through a Link, so that it keeps nobody alive; stopped by whatever
//              cancels first, and with the context.
namespace weft::detail {

struct context_hook {
  std::function<void()> function;
  std::size_t index = SIZE_MAX;  // among the context's hooks, under its lock; SIZE_MAX: not registered
};

namespace {

// For those who may come when the context is gone: a timer, a stop request.
struct Link {
  os::RankedMutex<base::Rank::kContext> lock;
  context_state* state = nullptr;  // null: gone
};

struct StopRequested {
  std::shared_ptr<Link> link;
  void operator()() const noexcept;
};

}  // namespace

struct context_state {
  base::Atom<std::uint32_t> references{1};
  context_state* parent = nullptr;  // a reference; for values and deadlines
  context_state* above = nullptr;   // nearest that can be cancelled: one of the parents, which keep it
  bool cancellable = false;
  bool shielded = false;  // values are looked for above it, cancellation is not
  std::int64_t deadline_ns = forever;
  const std::type_info* type = nullptr;
  std::shared_ptr<const void> value;
  chan<std::monostate> done = chan<std::monostate>::nil();
  std::shared_ptr<Link> link;
  std::optional<std::stop_callback<StopRequested>> on_stop;
  base::Atom<bool> cancelled{false};
  base::Atom<bool> let_go{false};  // last under the lock of a cancellation: no child's address is known any more

  os::RankedMutex<base::Rank::kContext> lock;
  timer limit;
  std::error_code error;
  std::exception_ptr cause;
  std::optional<std::stop_source> stop;
  std::vector<context_state*> children;
  std::vector<std::shared_ptr<context_hook>> hooks;
  context_watch* watches = nullptr;
  std::size_t index_in_parent = SIZE_MAX;  // under the lock of `above`
  context_state* next = nullptr;           // list of whoever cancels `above`

  context_state() = default;
  context_state(const context_state&) = delete;
  ~context_state() {
    if (above != nullptr) leave_parent();
    if (link != nullptr) {
      std::lock_guard guard(link->lock);
      link->state = nullptr;
    }
    on_stop.reset();
    if (limit) limit.stop();
  }

  bool try_retain() noexcept {
    std::uint32_t count = references.load_relaxed();
    while (count != 0)
      if (references.cas_acq_rel(count, count + 1)) return true;  // pairs: context.references
    return false;
  }

  void leave_parent() noexcept {
    if (above->let_go.load_acquire()) return;  // pairs: context.let_go
    std::lock_guard guard(above->lock);
    if (index_in_parent == SIZE_MAX) return;
    above->children[index_in_parent] = above->children.back();
    above->children[index_in_parent]->index_in_parent = index_in_parent;
    above->children.pop_back();
    index_in_parent = SIZE_MAX;
  }
};

void retain_context(context_state* state) noexcept { state->references.fetch_add_relaxed(1); }

void release_context(context_state* state) noexcept {
  while (state != nullptr && state->references.fetch_sub_acq_rel(1) == 1) {  // pairs: context.references
    context_state* parent = state->parent;  // a loop: chains of contexts are longer than stacks are deep
    delete state;
    state = parent;
  }
}

namespace {

context_state* nearest_cancellable(context_state* state) noexcept {
  while (state != nullptr && !state->cancellable) state = state->shielded ? nullptr : state->parent;
  return state;
}

// Those a cancellation has reached, each with a reference.
class Reached {
 public:
  Reached(context_state* root, std::error_code error, const std::exception_ptr& cause) : root_(root) {
    if (!decide(root, error, cause)) return;
    for (context_state* state = first_; state != nullptr; state = state->next) decide(state, error, root->cause);
    decided_ = true;
  }
  // The user's code: may park.
  void notify() const {
    if (!decided_) return;
    notify(root_);
    for (context_state* state = first_; state != nullptr;) {
      context_state* next = state->next;
      notify(state);
      release_context(state);
      state = next;
    }
  }

 private:
  // False: it was cancelled before.
  bool decide(context_state* state, std::error_code error, const std::exception_ptr& cause) {
    timer limit;
    {
      std::lock_guard guard(state->lock);
      if (state->cancelled.load_relaxed()) return false;
      state->error = error;
      state->cause = cause != nullptr ? cause : std::make_exception_ptr(std::system_error(error, "weft: context"));
      for (const std::shared_ptr<context_hook>& hook : state->hooks) hook->index = SIZE_MAX;
      state->cancelled.store_release(true);  // pairs: context.cancelled
      std::swap(limit, state->limit);
      for (context_state* child : state->children) {
        child->index_in_parent = SIZE_MAX;
        if (!child->try_retain()) continue;  // it is being destroyed, and waits for this lock
        child->next = nullptr;
        *last_ = child;
        last_ = &child->next;
      }
      state->children.clear();
      while (context_watch* watch = state->watches) {
        state->watches = watch->next;
        if (watch->next != nullptr) watch->next->previous = nullptr;
        watch->linked = false;
        watch->fired(watch);
      }
      state->let_go.store_release(true);  // pairs: context.let_go
    }
    if (limit) limit.stop();
    state->done.close();
    return true;
  }

  static void notify(context_state* state) {
    for (const std::shared_ptr<context_hook>& hook : state->hooks) {  // nobody else touches them any more
      try {
        go([hook] { sched::call_user(hook->function); });
      } catch (const std::bad_alloc&) {
        sched::call_user(hook->function);
      }
    }
    state->hooks.clear();
    std::optional<std::stop_source> stop;
    {
      std::lock_guard guard(state->lock);
      stop = state->stop;
    }
    if (stop) sched::request_stop_by_user(*stop);
  }

  context_state* root_;
  context_state* first_ = nullptr;
  context_state** last_ = &first_;
  bool decided_ = false;
};

// The context behind a link, with a reference; null: gone.
context_state* follow(Link& link) noexcept {
  std::lock_guard guard(link.lock);
  return link.state != nullptr && link.state->try_retain() ? link.state : nullptr;
}

// Called by whoever requests the stop; the stop source may not see it park, nor may the context end inside it: what may do
// either gets a goroutine.
void StopRequested::operator()() const noexcept {
  context_state* state = follow(*link);
  if (state == nullptr) return;
  const auto finish = [state, reached = Reached(state, std::make_error_code(std::errc::operation_canceled), nullptr)] {
    reached.notify();
    release_context(state);
  };
  try {
    go(finish);
  } catch (const std::bad_alloc&) {
    finish();
  }
}

void link_to(context_state* state) {
  state->link = std::make_shared<Link>();
  state->link->state = state;
}

void set_limit(context_state* state, std::int64_t deadline_ns) {
  const std::int64_t now = deadline_at(std::chrono::steady_clock::now());
  if (deadline_ns <= now) {
    cancel_context(state, std::make_error_code(std::errc::timed_out), nullptr);
    return;
  }
  link_to(state);
  timer limit(std::chrono::nanoseconds(deadline_ns - now), [link = state->link] {
    context_state* alive = follow(*link);
    if (alive == nullptr) return;
    cancel_context(alive, std::make_error_code(std::errc::timed_out), nullptr);
    release_context(alive);
  });
  {
    std::lock_guard guard(state->lock);
    if (!state->cancelled.load_relaxed()) {  // the parent's cancellation may have been faster
      std::swap(state->limit, limit);
      return;
    }
  }
  limit.stop();
}

// False: the parent has been cancelled already.
bool join_parent(context_state* child) {
  std::lock_guard guard(child->above->lock);
  if (child->above->cancelled.load_relaxed()) return false;
  child->above->children.push_back(child);
  child->index_in_parent = child->above->children.size() - 1;
  return true;
}

}  // namespace

void cancel_context(context_state* state, std::error_code error, std::exception_ptr cause) {
  if (state != nullptr) Reached(state, error, cause).notify();
}

bool watch_context(const context& watched, context_watch& watch) {
  watch.on = nearest_cancellable(watched.state_);
  if (watch.on == nullptr) return true;  // never cancelled
  context_state& state = *watch.on;
  std::lock_guard guard(state.lock);
  if (state.cancelled.load_relaxed()) return false;
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

context make_cancellable(const context& parent, std::int64_t deadline_ns) {
  auto* state = new context_state;
  context made(state);
  state->cancellable = true;
  state->done = chan<std::monostate>();
  state->parent = parent.state_;
  if (state->parent != nullptr) retain_context(state->parent);
  state->above = nearest_cancellable(state->parent);
  const std::int64_t inherited = state->above != nullptr ? state->above->deadline_ns : forever;
  state->deadline_ns = std::min(deadline_ns, inherited);
  if (state->above != nullptr && !join_parent(state)) {
    cancel_context(state, state->above->error, state->above->cause);
  } else if (deadline_ns < inherited) {
    set_limit(state, deadline_ns);
  }
  return made;
}

context make_stoppable(const context& parent, std::stop_token token) {
  context made = make_cancellable(parent, forever);
  link_to(made.state_);
  made.state_->on_stop.emplace(std::move(token), StopRequested{made.state_->link});
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

context_callback call_when_cancelled(const context& when, std::function<void()> function) {
  refuse_empty(function);
  auto hook = std::make_shared<context_hook>();
  hook->function = std::move(function);
  context_state* state = nearest_cancellable(when.state_);
  bool too_late = false;
  if (state == nullptr) {
    hook->index = 0;  // for stop()'s answer
  } else {
    std::lock_guard guard(state->lock);
    too_late = state->cancelled.load_relaxed();
    if (!too_late) {
      state->hooks.push_back(hook);
      hook->index = state->hooks.size() - 1;
    }
  }
  if (too_late) go([hook] { hook->function(); });
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
  return state != nullptr && state->cancelled.load_acquire();  // pairs: context.cancelled
}

std::error_code context::err() const {
  const detail::context_state* state = nearest_cancellable(state_);
  if (state == nullptr || !state->cancelled.load_acquire()) return {};  // pairs: context.cancelled
  return state->error;
}

std::exception_ptr context::cause() const {
  const detail::context_state* state = nearest_cancellable(state_);
  if (state == nullptr || !state->cancelled.load_acquire()) return nullptr;  // pairs: context.cancelled
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
  bool too_late;
  std::optional<std::stop_source> made;
  {
    std::lock_guard guard(state->lock);
    if (!state->stop) state->stop.emplace();
    token = state->stop->get_token();
    too_late = state->cancelled.load_relaxed();
    if (too_late) made = state->stop;
  }
  if (too_late) sched::request_stop_by_user(*made);  // the cancellation may have looked before there was a source
  return token;
}

const void* context::find_value(const std::type_info& type) const noexcept {
  for (const detail::context_state* state = state_; state != nullptr; state = state->parent)
    if (state->type != nullptr && *state->type == type) return state->value.get();
  return nullptr;
}

}  // namespace weft
