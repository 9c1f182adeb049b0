// SPDX-License-Identifier: MIT
#include "weft/context.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "api/chan_core.h"
#include "api/context_watch.h"
#include "api/stop_handles.h"
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
//   Lingering  a context without handles is still wanted while somebody has its channel or stop token, or gave it a function, and
//              while something can still cancel it: a context above, a time limit, a stop request. Then the last handle becomes a
//              hold of its own (settle). It is given back by who sees `lingers` under the lock: who cancelled the context, after
//              the notifications; who finds that nothing can cancel it any more (abandon_below); who finds that nobody has its
//              channel and stop token any more (Lingering). All else is freed with its last handle, as if nothing could linger.
//   References one word: handles, which are the user's and those of contexts below that have handles themselves; and holds, which
//              only keep the memory: lingering contexts below, the own lingering, who cancels it at the moment. When a context
//              loses its last handle and stays, its reference to its parent becomes a hold. So "no handle" means that no user can
//              reach it, directly or through a context below, and a root that is dropped frees those that linger under it.
//   Races      the last handle against a cancellation: both decide under the context's lock. Cancelled first: no lingering; who
//              cancels has a hold, and frees. Lingering first: the cancellation finds it, through the parent's list or the Link,
//              since the word is not 0. A hold may be given back before the count of it has arrived (the last handle's owner has
//              decided, and changes the words of the context and of its parents next): the holds of a word may be negative for
//              that moment, but then its handles are not 0. Who changes the last handle sees exact holds: all others have arrived.
//              Handles never come back, so what was decided without any stays true.
namespace weft::detail {

struct context_hook {
  explicit context_hook(stored_function what) noexcept : function(what) {}
  context_hook(const context_hook&) = delete;
  ~context_hook() { function.destroy(); }
  void run() { sched::call_user(function.use->call, function.storage); }

  stored_function function;
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
  static constexpr std::uint64_t kHandle = 1, kHold = std::uint64_t{1} << 32;
  static constexpr std::uint32_t handles(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word); }
  static constexpr std::uint32_t holds(std::uint64_t word) noexcept { return handles(word >> 32); }

  base::Atom<std::uint64_t> references{kHandle};
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
  bool may_be_unwanted = false;    // lingers for its channel or stop token only; written before the last handle goes
  base::Atom<bool> let_go{false};  // last under the lock of a cancellation: no child's address is known any more

  os::RankedMutex<base::Rank::kContext> lock;
  timer limit;
  std::error_code error;
  std::exception_ptr cause;
  std::optional<std::stop_source> stop;
  std::vector<context_state*> children;
  std::vector<std::shared_ptr<context_hook>> hooks;
  bool had_listeners = false;  // a stop source or a function, once
  bool lingers = false;        // has a hold on itself
  context_watch* watches = nullptr;
  std::size_t index_in_parent = SIZE_MAX;          // under the lock of `above`
  context_state* next = nullptr;                   // list of whoever took it off the list of `above`
  context_state *after = nullptr, **at = nullptr;  // among the lingering, under their lock; `at` null: not there

  context_state() = default;
  context_state(const context_state&) = delete;
  ~context_state() {
    if (may_be_unwanted) leave_lingering();
    if (above != nullptr) leave_parent();
    if (link != nullptr) {
      std::lock_guard guard(link->lock);
      link->state = nullptr;
    }
    on_stop.reset();
    if (limit) limit.stop();
  }

  bool try_hold() noexcept {
    std::uint64_t count = references.load_relaxed();
    while (count != 0)
      if (references.cas_acq_rel(count, count + kHold)) return true;  // pairs: context.references
    return false;
  }

  // With the lock held.
  bool can_be_cancelled() const noexcept { return above != nullptr || has_own_end(); }
  bool is_token_held() const noexcept { return stop.has_value() && !StopHandles::has_one(*stop); }
  bool has_own_end() const noexcept { return static_cast<bool>(limit) || on_stop.has_value(); }

  void leave_lingering() noexcept;
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

namespace {

// Contexts that were taken off the lists of those above them, each with a hold.
class Taken {
 public:
  context_state* first() const noexcept { return first_; }
  // With the lock of `above` held.
  void add(context_state* child) noexcept {
    child->index_in_parent = SIZE_MAX;
    if (!child->try_hold()) return;  // it is being destroyed, and waits for this lock
    child->next = nullptr;
    *last_ = child;
    last_ = &child->next;
  }
  void add_all_below(context_state* state) noexcept {
    for (context_state* child : state->children) add(child);
    state->children.clear();
  }

 private:
  context_state* first_ = nullptr;
  context_state** last_ = &first_;
};

enum class Reference : std::uint8_t {
  kHandle,
  kHold,
  kHandleThatStays,  // becomes a hold: who has it has lost its own last handle, but stays
};

std::uint64_t settle(context_state* state, std::uint32_t holds) noexcept;

void give_back(context_state* state, Reference given) noexcept {
  using State = context_state;
  while (state != nullptr) {  // a loop: chains of contexts are longer than stacks are deep
    State* parent = state->parent;
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

void release_hold(context_state* state) noexcept { give_back(state, Reference::kHold); }

// Who takes this away from a lingering context gives its hold back.
bool take_lingering(context_state* state) noexcept {
  std::lock_guard guard(state->lock);
  return std::exchange(state->lingers, false);
}

// Those that linger for the sake of a channel or a stop token only. Nobody tells when the last of these goes: they are looked through
// when they have become twice as many as were wanted the last time. Without handles no new channels and tokens are made.
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

// No handle of it is left, and nothing can cancel it: nor those below it, which linger all, unless they have an end of their own.
void abandon_below(context_state* root) noexcept {
  Taken taken;
  const auto is_lost = [](const context_state* state) {
    return !state->cancelled.load_relaxed() && !state->has_own_end();
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

// The last handle goes; holds: those that will remain. Returns what the context gets to linger.
std::uint64_t settle(context_state* state, std::uint32_t holds) noexcept {
  if (!state->cancellable || state->cancelled.load_acquire()) return 0;  // pairs: context.cancelled
  const bool is_waited_for = !state->done.core()->has_one_handle();
  if (!is_waited_for && !state->had_listeners && holds == 0) return 0;  // as most: without the lock
  bool lingers = false, can_be_cancelled = false;
  {
    std::lock_guard guard(state->lock);
    if (state->cancelled.load_relaxed()) return 0;
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

namespace {

context_state* nearest_cancellable(context_state* state) noexcept {
  while (state != nullptr && !state->cancellable) state = state->shielded ? nullptr : state->parent;
  return state;
}

// Those a cancellation has reached.
class Reached {
 public:
  Reached(context_state* root, std::error_code error, const std::exception_ptr& cause) : root_(root) {
    if (!decide(root, error, cause)) return;
    for (context_state* state = taken_.first(); state != nullptr; state = state->next)
      decide(state, error, root->cause);
    decided_ = true;
  }
  // The user's code: may park.
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
    {
      std::lock_guard guard(state->lock);
      if (state->cancelled.load_relaxed()) return false;
      state->error = error;
      state->cause = cause != nullptr ? cause : std::make_exception_ptr(std::system_error(error, "weft: context"));
      for (const std::shared_ptr<context_hook>& hook : state->hooks) hook->index = SIZE_MAX;
      state->cancelled.store_release(true);  // pairs: context.cancelled
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
    if (limit) limit.stop();
    state->done.core()->close();
    return true;
  }

  static void notify(context_state* state) {
    std::vector<std::shared_ptr<context_hook>> hooks;
    {
      std::lock_guard guard(state->lock);  // cancelled on its own and from above at once, it is notified twice
      hooks.swap(state->hooks);
    }
    for (const std::shared_ptr<context_hook>& hook : hooks) {
      try {
        go([hook] { hook->run(); });
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
    if (stop) sched::request_stop_by_user(*stop);
    if (take_lingering(state)) release_hold(state);
  }

  context_state* root_;
  Taken taken_;
  bool decided_ = false;
};

// The context behind a link, with a hold; null: gone.
context_state* follow(Link& link) noexcept {
  std::lock_guard guard(link.lock);
  return link.state != nullptr && link.state->try_hold() ? link.state : nullptr;
}

// Called by whoever requests the stop; the stop source may not see it park, nor may the context end inside it: what may do
// either gets a goroutine.
void StopRequested::operator()() const noexcept {
  context_state* state = follow(*link);
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
    release_hold(alive);
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
  std::vector<context_state*>& children = child->above->children;
  children.push_back(child);
  child->index_in_parent = children.size() - 1;
  return true;
}

}  // namespace

void cancel_context(context_state* state, std::error_code error, std::exception_ptr cause) {
  if (state == nullptr) return;
  state->references.fetch_add_relaxed(context_state::kHold);  // what is notified may drop the handle that is used here
  Reached(state, error, cause).notify();
  release_hold(state);
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
  state->done = chan<std::monostate>();
  state->cancellable = true;  // with a channel: who drops it looks there
  state->done.core()->give_to_context();
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
  if (!token.stop_possible()) return made;
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

namespace {
std::shared_ptr<context_hook> make_hook(stored_function function) {
  try {
    return std::make_shared<context_hook>(function);
  } catch (const std::bad_alloc&) {
    function.destroy();
    throw;
  }
}
}  // namespace

context_callback call_when_cancelled(const context& when, stored_function function) {
  std::shared_ptr<context_hook> hook = make_hook(function);
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
      state->had_listeners = true;
    }
  }
  if (too_late) go([hook] { hook->run(); });
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
    state->had_listeners = true;
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
