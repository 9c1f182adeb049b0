// SPDX-License-Identifier: MIT
#include "weft/context.h"

#include <mutex>
#include <vector>

#include "base/atomic.h"
#include "os/ranked_mutex.h"
#include "weft/time.h"

// Contexts.
//   Tree      a child holds its parent; a parent knows its cancellable children weakly, so that a dropped child is simply gone.
//   Cancel    decided once under the context's lock; channel, stop source and children are seen to afterwards, with no lock
//             held: ten thousand children take ten thousand locks, one after the other, and never each other's.
namespace weft::detail {

struct context_state {
  std::shared_ptr<context_state> parent;             // nearest above, for values and deadlines
  std::shared_ptr<context_state> cancelling_parent;  // nearest above that can be cancelled
  bool cancellable = false;
  std::int64_t deadline_ns = forever;
  const std::type_info* type = nullptr;
  std::shared_ptr<const void> value;
  chan<std::monostate> done = chan<std::monostate>::nil();
  timer limit;
  base::Atom<bool> cancelled{false};

  os::RankedMutex<base::Rank::kContext> lock;
  std::error_code error;
  std::exception_ptr cause;
  std::optional<std::stop_source> stop;
  struct Child {
    context_state* state;
    std::weak_ptr<context_state> alive;
  };
  std::vector<Child> children;
  std::size_t index_in_parent = SIZE_MAX;  // under the parent's lock

  context_state() = default;
  context_state(const context_state&) = delete;
  ~context_state() {
    if (cancelling_parent != nullptr) leave_parent();
  }

  void leave_parent() noexcept {
    context_state& above = *cancelling_parent;
    std::lock_guard guard(above.lock);
    if (index_in_parent == SIZE_MAX) return;  // the parent was cancelled and has let go
    above.children[index_in_parent] = std::move(above.children.back());
    above.children[index_in_parent].state->index_in_parent = index_in_parent;
    above.children.pop_back();
    index_in_parent = SIZE_MAX;
  }
};

namespace {

std::shared_ptr<context_state> nearest_cancellable(std::shared_ptr<context_state> state) {
  while (state != nullptr && !state->cancellable) state = state->parent;
  return state;
}

// False: the parent has been cancelled already.
bool join_parent(const std::shared_ptr<context_state>& child) {
  context_state& above = *child->cancelling_parent;
  std::lock_guard guard(above.lock);
  if (above.cancelled.load_relaxed()) return false;
  above.children.push_back({child.get(), child});
  child->index_in_parent = above.children.size() - 1;
  return true;
}

}  // namespace

void cancel_context(const std::shared_ptr<context_state>& state, std::error_code error, std::exception_ptr cause) {
  std::vector<context_state::Child> children;
  std::optional<std::stop_source> stop;
  {
    std::lock_guard guard(state->lock);
    if (state->cancelled.load_relaxed()) return;
    state->error = error;
    state->cause = cause != nullptr ? cause : std::make_exception_ptr(std::system_error(error, "weft: context"));
    state->cancelled.store_release(true);  // pairs: context.cancelled
    children.swap(state->children);
    for (context_state::Child& child : children) child.state->index_in_parent = SIZE_MAX;
    stop = state->stop;
  }
  state->done.close();
  if (stop) stop->request_stop();
  for (context_state::Child& child : children)
    if (const std::shared_ptr<context_state> alive = child.alive.lock()) cancel_context(alive, error, state->cause);
}

context make_cancellable(const context& parent, std::int64_t deadline_ns) {
  auto state = std::make_shared<context_state>();
  state->parent = parent.state_;
  state->cancellable = true;
  state->done = chan<std::monostate>();
  state->cancelling_parent = nearest_cancellable(parent.state_);
  const std::int64_t inherited = state->cancelling_parent != nullptr ? state->cancelling_parent->deadline_ns : forever;
  state->deadline_ns = std::min(deadline_ns, inherited);
  if (state->cancelling_parent != nullptr && !join_parent(state)) {
    cancel_context(state, state->cancelling_parent->error, state->cancelling_parent->cause);
  } else if (deadline_ns != forever && deadline_ns < inherited) {
    const auto on_time = [weak = std::weak_ptr<context_state>(state)] {
      if (const auto alive = weak.lock()) cancel_context(alive, std::make_error_code(std::errc::timed_out), nullptr);
    };
    const std::int64_t now = deadline_at(std::chrono::steady_clock::now());
    if (deadline_ns <= now) {
      on_time();
    } else {
      state->limit = timer(std::chrono::nanoseconds(deadline_ns - now), on_time);
    }
  }
  return context(std::move(state));
}

context make_value_context(const context& parent, const std::type_info& type, std::shared_ptr<const void> value) {
  auto state = std::make_shared<context_state>();
  state->parent = parent.state_;
  state->type = &type;
  state->value = std::move(value);
  return context(std::move(state));
}

}  // namespace weft::detail

namespace weft {

using detail::nearest_cancellable;

chan<std::monostate> context::done() const {
  const auto state = nearest_cancellable(state_);
  return state != nullptr ? state->done : chan<std::monostate>::nil();
}

bool context::cancelled() const noexcept {
  const auto state = nearest_cancellable(state_);
  return state != nullptr && state->cancelled.load_acquire();  // pairs: context.cancelled
}

std::error_code context::err() const {
  const auto state = nearest_cancellable(state_);
  if (state == nullptr || !state->cancelled.load_acquire()) return {};  // pairs: context.cancelled
  return state->error;
}

std::exception_ptr context::cause() const {
  const auto state = nearest_cancellable(state_);
  if (state == nullptr || !state->cancelled.load_acquire()) return nullptr;  // pairs: context.cancelled
  return state->cause;
}

std::optional<time_point> context::deadline() const {
  const auto state = nearest_cancellable(state_);
  if (state == nullptr || state->deadline_ns == detail::forever) return std::nullopt;
  return time_point(std::chrono::nanoseconds(state->deadline_ns));
}

std::stop_token context::stop_token() const {
  const auto state = nearest_cancellable(state_);
  if (state == nullptr) return {};
  std::lock_guard guard(state->lock);
  if (!state->stop) {
    state->stop.emplace();
    if (state->cancelled.load_relaxed()) state->stop->request_stop();  // nobody can have registered a callback yet
  }
  return state->stop->get_token();
}

const void* context::find_value(const std::type_info& type) const noexcept {
  for (const detail::context_state* state = state_.get(); state != nullptr; state = state->parent.get())
    if (state->type != nullptr && *state->type == type) return state->value.get();
  return nullptr;
}

}  // namespace weft
