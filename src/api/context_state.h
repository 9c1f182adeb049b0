// SPDX-License-Identifier: MIT
#pragma once
#include <mutex>
#include <vector>

#include "api/chan_core.h"
#include "api/context_watch.h"
#include "api/stop_handles.h"
#include "base/atomic.h"
#include "os/ranked_mutex.h"
#include "sched/frames/user_call.h"
#include "weft/context.h"
#include "weft/detail/happens_before.h"
#include "weft/time.h"

// Contexts.
//   Tree       A child counts as a reference to its parent. A parent knows its cancellable children only by their
//              addresses, which are valid while the parent's lock is held, because a dying child takes itself off the
//              list first.
//   Cancel     1 Each context is decided once, under its lock: cause, channel. Its children join the list of contexts
//              to do.
//              2 When all of them are decided, the user's code may run: stop sources, functions.
//              Nothing but the cause is allocated before step 2, no two contexts are locked at once, and no call is
//              nested. So there may be any number of children, at any depth.
//   One moment A context is cancelled when its channel is closed; no other flag says so. So err(), cause() and
//              cancelled() answer at the same moment as done(), whichever the caller asks first. error and cause are
//              written before the close and never again: is_cancelled() acquires what the close released (chan.closed).
//              The close happens under the context's lock, so that a context made below, a function or a watch
//              registered, and a context_callback::stop() come before it or after it. What follows from the close comes
//              later, and a caller that sees it finds err() set: contexts below, watches, functions, the stop token.
//              The receivers of the channel are woken after the lock, because there may be many.
//   Rejected   A flag before the close: err() is set while done() is open. A flag after it: a receiver of done() finds
//              no err(). Both flags, with err() waiting for the second: a reader would wait for a canceller that has no
//              CPU.
//   Time limit A function timer that knows the context through a Link, so that it keeps no context alive. It is stopped
//              by the first cancellation, and with the context.
//   Lingering  A context without handles is still wanted while its channel or stop token is held or a function is
//              registered, and while something can still cancel it: a context above, a time limit, a stop request. Then
//              the last handle becomes a hold of the context on itself (settle). The thread that finds `lingers` set
//              under the lock clears it, and gives the hold back. It is the canceller, after the notifications; or a
//              thread that finds that nothing can cancel the context any more (abandon_below); or a thread that finds
//              its channel and stop token dropped (Lingering). All other contexts are freed with their last handle, as
//              if nothing could linger.
//   References One word with handles and holds. Handles are the user's, and those of contexts below that have handles
//              themselves. Holds only keep the memory: for lingering contexts below, for the context's own lingering,
//              and for a canceller at work. When a context loses its last handle and stays, its reference to its parent
//              becomes a hold. So "no handle" means that no user can reach the context, directly or through a context
//              below. And dropping a root frees the contexts that linger under it.
//   Races      The last handle against a cancellation: both decide under the context's lock. Cancelled first: the
//              context does not linger; the canceller has a hold, and frees. Lingering first: the cancellation finds
//              the context, through the parent's list or the Link, because the word is not 0.
//              A hold may be given back before it has been counted: the owner of the last handle has decided, and
//              changes the words of the context and of its parents next. So the holds of a word may be negative for
//              that moment, but then its handles are not 0. The thread that gives back the last handle sees exact
//              holds, because all others have arrived. Handles never come back, so what was decided without any stays
//              true.
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

// For a timer or a stop request, which may come when the context is gone.
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
  context_state* above = nullptr;   // the nearest context above that can be cancelled; the parents keep it
  bool cancellable = false;
  bool shielded = false;  // values are looked up above it, cancellation is not
  std::int64_t deadline_ns = forever;
  bool is_deadline_estimated = false;  // by another clock than the steady one, here or above
  const std::type_info* type = nullptr;
  std::shared_ptr<const void> value;
  chan<std::monostate> done = chan<std::monostate>::nil();
  std::shared_ptr<ContextLink> link;
  sched::StopWatch on_stop;
  bool may_be_unwanted = false;    // lingers for its channel or stop token only; written before the last handle goes
  base::Atom<bool> let_go{false};  // written last under the lock of a cancellation: no child is listed any more

  os::RankedMutex<base::Rank::kContext> lock;
  timer limit;
  std::error_code error;
  std::exception_ptr cause;
  std::optional<std::stop_source> stop;
  std::vector<context_state*> children;
  std::vector<std::shared_ptr<context_hook>> hooks;
  bool had_listeners = false;  // has had a stop source or a function
  bool lingers = false;        // has a hold on itself
  context_watch* watches = nullptr;
  std::size_t index_in_parent = SIZE_MAX;          // under the lock of `above`
  context_state* next = nullptr;                   // in the list of the thread that took it off the list of `above`
  context_state *after = nullptr, **at = nullptr;  // among the lingering ones, under their lock; `at` null: not there

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

  // Only for a cancellable context.
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

// Contexts that were taken off the lists of the contexts above them, each with a hold.
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
// True: the context lingered. The caller must give its hold back.
bool take_lingering(context_state* state) noexcept;

}  // namespace weft::detail
