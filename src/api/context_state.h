// SPDX-License-Identifier: MIT
#pragma once
#include <mutex>
#include <vector>

#include "api/chan_core.h"
#include "api/context_watch.h"
#include "api/stop_handles.h"
#include "base/atomic.h"
#include "os/ranked_mutex.h"
#include "sched/user_call.h"
#include "weft/context.h"
#include "weft/detail/happens_before.h"
#include "weft/time.h"

// Contexts.
//   Tree       a child counts as a reference to its parent; a parent knows its cancellable children only by their addresses,
//              which are good while its lock is held: a dying child takes itself off the list first.
//   Cancel     1 decided once under each context's lock: cause, channel; its children join the list of those still to do.
//              2 with all of them decided, what may run the user's code: stop sources, functions. Nothing is allocated before
//              that, no two contexts are locked at once, and no call is nested: any number of children, any depth.
//   One moment a context is cancelled when its channel is closed: no other flag says so. So err(), cause() and
//              cancelled() answer at the same moment as done(), whichever the caller asks first. error and cause are
//              written before the close and never again: is_cancelled() acquires what the close released (chan.closed).
//              The close happens under the context's lock, so that a context made below, a function or a watch
//              registered, and a context_callback::stop() come before it or after it. What follows from it comes later,
//              and a caller that sees it finds err() set: contexts below, watches, functions, the stop token. The
//              receivers of the channel are woken after the lock, since there may be many.
//   Rejected   a flag before the close: err() is set while done() is open. A flag after it: a receiver of done() finds
//              no err(). Both flags, with err() waiting for the second: a reader that waits for a canceller without a
//              CPU.
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
  context_hook(stored_function what, std::int32_t where) noexcept : function(what), site(where) {}
  context_hook(const context_hook&) = delete;
  ~context_hook() {
    order_acquire(this);
    function.destroy();
  }
  void run() {
    order_acquire(this);
    sched::call_user(function.use->call, function.storage);
    order_release(this);
  }

  stored_function function;
  const std::int32_t site;       // where the user registered it
  std::size_t index = SIZE_MAX;  // among the context's hooks, under its lock; SIZE_MAX: not registered
};

// For those who may come when the context is gone: a timer, a stop request.
struct ContextLink {
  os::RankedMutex<base::Rank::kContext> lock;
  context_state* state = nullptr;  // null: gone
};

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
  bool is_deadline_estimated = false;  // by another clock than the steady one, here or above
  const std::type_info* type = nullptr;
  std::shared_ptr<const void> value;
  chan<std::monostate> done = chan<std::monostate>::nil();
  std::shared_ptr<ContextLink> link;
  sched::StopWatch on_stop;
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
    if (on_stop.has_begun()) on_stop.end();
    if (limit) limit.stop();
  }

  bool try_hold() noexcept {
    std::uint64_t count = references.load_relaxed();
    while (count != 0)
      if (references.cas_acq_rel(count, count + kHold)) return true;  // pairs: context.references
    return false;
  }

  // Of one that can be.
  bool is_cancelled() const noexcept { return chan_closed(done.core()); }

  // With the lock held.
  bool can_be_cancelled() const noexcept { return above != nullptr || has_own_end(); }
  bool is_token_held() const noexcept { return stop.has_value() && !StopHandles::has_one(*stop); }
  bool has_own_end() const noexcept { return static_cast<bool>(limit) || on_stop.has_begun(); }

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

// Contexts that were taken off the lists of those above them, each with a hold.
class TakenContexts {
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

// In context_lifetime.cc.
void release_hold(context_state* state) noexcept;
// Who takes this away from a lingering context gives its hold back.
bool take_lingering(context_state* state) noexcept;

}  // namespace weft::detail
