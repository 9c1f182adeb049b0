// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/detail/callable.h"
#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/detail/goroutine_id.h"
#include "weft/detail/launch.h"
#include "weft/detail/owned_call.h"
#include "weft/detail/preemptible_scope.h"
#include "weft/detail/task_core.h"
#include "weft/error.h"
#include "weft/runtime.h"

// Goroutines: how to start and join them, and what a goroutine can ask about itself.
namespace weft {

namespace detail {

template <class State, class F>
  requires std::is_base_of_v<task_core, State>
void call_for(State* state, F& f) {
  state->begin();
  if constexpr (requires { F::is_main; }) state->is_main = true;
  try {
    state->produce(f);
  } catch (...) {
    state->error = std::current_exception();
    if (state->error == nullptr) {  // this_goroutine::exit(): a forced unwind, not a C++ exception
      state->exited = true;
      throw;
    }
  }
}
template <class State>
  requires std::is_base_of_v<task_core, State>
void end_of_call(State* state) noexcept {
  if (state->finish()) destroy_state(state);
}

template <class State, class C>
WEFT_ALWAYS_INLINE State* launch_task(prepared_task prepared, C&& closure) {
  struct guard {
    prepared_task prepared;
    bool armed = true;
    ~guard() {
      if (!armed) return;
      if (prepared.block != nullptr) free_block(prepared.block);
      abandon_record(prepared.spawn);
    }
  } undo{prepared};
  State* state = make_state<State>(prepared.block);
  undo.armed = false;
  if (prepared.spawn.has_extra) [[unlikely]]
    give_id(prepared.spawn, state->id());
  struct state_guard {
    State* state;
    ~state_guard() {
      if (state != nullptr) destroy_state(state);
    }
  } undo_state{state};
  launch(prepared.spawn, owned_call<State, std::decay_t<C>>(state, std::forward<C>(closure)));
  undo_state.state = nullptr;
  return state;
}

void apply_options(const options& wanted);
// The wait ended without its goroutine, because the process is exiting and no goroutine runs any more.
[[noreturn]] void throw_exiting();

// run()'s function, which outlives the goroutine. Leaving by exit() ends the goroutine, not the wait.
template <class F>
struct main_closure {
  static constexpr bool is_main = true;
  std::remove_reference_t<F>* f;
  decltype(auto) operator()() const { return std::invoke(*f); }
};

}  // namespace detail

// A goroutine that can be joined. Move-only. The destructor joins, as std::jthread's does, and drops an exception.
template <class T>
class [[nodiscard]] task {
 public:
  task() noexcept = default;
  explicit task(detail::task_state<T>* state) noexcept : state_(state) {}
  task(task&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      release();
      state_ = std::exchange(other.state_, nullptr);
    }
    return *this;
  }
  ~task() { release(); }

  // Blocks until the goroutine has ended. Returns its value, or throws what it threw; goroutine_exited if it left by
  // this_goroutine::exit(). A second join throws logic_error.
  T join() {
    if (state_ == nullptr) throw logic_error("weft: task::join: the task was joined, detached or moved from before");
    state_->wait();
    if (!state_->done()) [[unlikely]]
      detail::throw_exiting();
    struct guard {
      detail::task_state<T>* state;
      ~guard() { detail::destroy_state(state); }
    } end{std::exchange(state_, nullptr)};
    if (end.state->exited) throw goroutine_exited();
    if (end.state->error) std::rethrow_exception(end.state->error);
    return end.state->take();
  }
  bool joinable() const noexcept { return state_ != nullptr; }
  bool ready() const noexcept { return state_ != nullptr && state_->done(); }
  // False: the goroutine still runs at the time limit.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> limit) const {
    require("wait_for");
    return state_->wait_until(detail::deadline_in(limit));
  }
  template <class Clock, class Duration>
  bool wait_until(std::chrono::time_point<Clock, Duration> limit) const {
    require("wait_until");
    return detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) { return state_->wait_until(deadline_ns); });
  }
  // Lets the goroutine run on by itself; its result or exception is dropped.
  void detach() {
    require("detach");
    drop();
  }
  goroutine_id id() const noexcept { return goroutine_id(state_ != nullptr ? state_->id() : 0); }

  detail::task_core* core() const noexcept { return state_; }  // for select; null: not joinable

 private:
  void require(const char* what) const {
    if (state_ == nullptr)
      throw logic_error(std::string("weft: task::") + what + ": the task was joined, detached or moved from before");
  }
  void drop() noexcept {
    if (state_->abandon()) detail::destroy_state(state_);
    state_ = nullptr;
  }
  void release() noexcept {
    if (state_ == nullptr) return;
    state_->wait();
    drop();
  }
  detail::task_state<T>* state_ = nullptr;
};

// Starts f(arguments...) as a goroutine and does not wait for it. An exception that leaves f ends the process.
template <class F, class... A>
  requires(!std::is_same_v<std::decay_t<F>, go_options>)
WEFT_ALWAYS_INLINE void go(F&& f, A&&... arguments) {
  WEFT_REFUSE_UNSTARTABLE("weft::go", F, A...);
  if constexpr (detail::is_startable<F, A...>) {
    detail::refuse_empty(f, "go");
    detail::launch(detail::prepare_record(), detail::bind(std::forward<F>(f), std::forward<A>(arguments)...));
  }
}
template <class F, class... A>
WEFT_ALWAYS_INLINE void go(const go_options& options, F&& f, A&&... arguments) {
  WEFT_REFUSE_UNSTARTABLE("weft::go", F, A...);
  if constexpr (detail::is_startable<F, A...>) {
    detail::refuse_empty(f, "go");
    detail::launch(detail::prepare_record(options), detail::bind(std::forward<F>(f), std::forward<A>(arguments)...));
  }
}

// Starts a goroutine. join() of the task delivers its result, which may be a reference, or its exception.
template <class F, class... A>
  requires(!std::is_same_v<std::decay_t<F>, go_options>)
WEFT_ALWAYS_INLINE auto spawn(F&& f, A&&... arguments) {
  using result = typename detail::result_of_start<F, A...>::type;
  WEFT_REFUSE_UNSTARTABLE("weft::spawn", F, A...);
  WEFT_REFUSE_UNDELIVERABLE("weft::spawn", result);
  if constexpr (detail::is_startable<F, A...> && detail::is_deliverable<result>) {
    using state_type = detail::task_state<result>;
    detail::refuse_empty(f, "spawn");
    return task<result>(detail::launch_task<state_type>(
        detail::prepare_task(sizeof(state_type)), detail::bind(std::forward<F>(f), std::forward<A>(arguments)...)));
  } else {
    return task<void>();
  }
}
template <class F, class... A>
WEFT_ALWAYS_INLINE auto spawn(const go_options& options, F&& f, A&&... arguments) {
  using result = typename detail::result_of_start<F, A...>::type;
  WEFT_REFUSE_UNSTARTABLE("weft::spawn", F, A...);
  WEFT_REFUSE_UNDELIVERABLE("weft::spawn", result);
  if constexpr (detail::is_startable<F, A...> && detail::is_deliverable<result>) {
    using state_type = detail::task_state<result>;
    detail::refuse_empty(f, "spawn");
    return task<result>(
        detail::launch_task<state_type>(detail::prepare_task(options, sizeof(state_type)),
                                        detail::bind(std::forward<F>(f), std::forward<A>(arguments)...)));
  } else {
    return task<void>();
  }
}

// Runs f as a goroutine and blocks the calling thread (or goroutine) until f returns. Returns the value or reference
// that f returns, or throws its exception.
template <class F>
decltype(auto) run(const options& wanted, F&& f) {
  using function = std::remove_reference_t<F>&;
  static_assert(std::is_invocable_v<function>,
                "weft::run: the function must be callable without arguments: capture what it needs in a lambda");
  if constexpr (std::is_invocable_v<function>) {
    using result = std::invoke_result_t<function>;
    WEFT_REFUSE_UNDELIVERABLE("weft::run", result);
    if constexpr (detail::is_deliverable<result>) {
      detail::refuse_empty(f, "run");
      detail::apply_options(wanted);
      using state_type = detail::task_state<result>;
      task<result> main_task(detail::launch_task<state_type>(detail::prepare_main_task(sizeof(state_type)),
                                                             detail::main_closure<F>{std::addressof(f)}));
      struct returned {
        ~returned() { detail::run_returned(); }
      } note;
      return main_task.join();
    }
  } else {
    return 0;  // as main() expects, so that the static_assert is the only error
  }
}
template <class F>
  requires(!std::is_same_v<std::decay_t<F>, options>)
decltype(auto) run(F&& f) {
  return run(options{}, std::forward<F>(f));
}

namespace this_goroutine {

// The calling goroutine's id; 0 on a plain thread.
goroutine_id get_id() noexcept;
// Lets other goroutines run first.
void yield();
// The name is shown in dumps and traces. Throws logic_error on a plain thread.
void set_name(std::string_view name);
// Ends the calling goroutine: its frames unwind, and destructors run. This is not an exception to handle: a catch (...)
// must rethrow it. Throws logic_error on a plain thread.
[[noreturn]] void exit();

}  // namespace this_goroutine

namespace detail {
void sleep_for_ns(std::int64_t ns);
void sleep_until_ns(std::int64_t deadline_ns);
void enter_blocking();
void leave_blocking() noexcept;
}  // namespace detail

namespace this_goroutine {
// Parks the goroutine, or blocks the plain thread.
template <class Rep, class Period>
void sleep_for(std::chrono::duration<Rep, Period> duration) {
  detail::sleep_for_ns(detail::to_ns(duration));
}
template <class Clock, class Duration>
void sleep_until(std::chrono::time_point<Clock, Duration> when) {
  detail::wait_by_clock(when, [](std::int64_t deadline_ns) {
    detail::sleep_until_ns(deadline_ns);
    return false;
  });
}
}  // namespace this_goroutine

// Wires the goroutine to its thread until the matching unlock; calls nest. A goroutine that ends while locked ends its
// thread, too. Throws logic_error on a plain thread, and for an unlock without a lock.
void lock_os_thread();
void unlock_os_thread();
class os_thread_lock {
 public:
  os_thread_lock() { lock_os_thread(); }
  ~os_thread_lock() { unlock_os_thread(); }
  os_thread_lock(const os_thread_lock&) = delete;
};

// Runs f, which may block the thread; other goroutines go on meanwhile. Returns what f returns, even a reference.
template <class F>
decltype(auto) blocking(F&& f) {
  static_assert(std::is_invocable_v<F>,
                "weft::blocking: the function must be callable without arguments: capture what it needs in a lambda");
  if constexpr (std::is_invocable_v<F>) {
    struct guard {
      guard() { detail::enter_blocking(); }
      ~guard() { detail::leave_blocking(); }
    } call;
    return std::invoke(std::forward<F>(f));
  }
}

// A scope in which the goroutine keeps its processor: it is not preempted. Scopes nest.
struct no_preempt {
  no_preempt();
  ~no_preempt();
  no_preempt(const no_preempt&) = delete;
};

// A scope of computation that may be stopped between any two instructions, even in code without preemption checks. It
// resumes on the same thread. It is for code that holds no lock others need, and leaves nothing half changed that they
// look at. Without the scope, such code loses its processor, but computes on beside the other goroutines. Code of other
// libraries that is called inside is not stopped this way. The scope has no effect on aarch64 and in statically linked
// programs. Scopes nest.
class preemptible {
 public:
  preemptible() noexcept;
  ~preemptible();
  preemptible(const preemptible&) = delete;

 private:
  detail::preemptible_scope scope_;
};

namespace detail {
extern thread_local constinit std::uint32_t preempt_requested __attribute__((tls_model("initial-exec")));
void preempt_now();
}  // namespace detail

// For hot loops: costs a load and a branch, and gives way if the scheduler has asked for it.
inline void preempt_point() {
  if (detail::preempt_requested != 0) [[unlikely]]
    detail::preempt_now();
}

// copy: a new goroutine starts with a copy of the value that its creator has.
enum class inherit { no, copy };

namespace detail {
struct local_operations {
  void (*destroy)(void* value) noexcept;
  void* (*copy)(const void* value);
};
void* find_local(const void* key) noexcept;
void add_local(const void* key, void* value, const local_operations* operations);
}  // namespace detail

// Like thread_local, but one object for each goroutine (or plain thread). For objects of static storage duration.
template <class T>
class goroutine_local {
 public:
  explicit goroutine_local(inherit how = inherit::no) noexcept : operations_(how == inherit::copy ? &kCopied : &kOwn) {}
  goroutine_local(const goroutine_local&) = delete;

  // The calling goroutine's object, which is made at its first use.
  T& get() {
    if (void* value = detail::find_local(this)) return *static_cast<T*>(value);
    auto fresh = std::make_unique<T>();
    detail::add_local(this, fresh.get(), operations_);
    return *fresh.release();
  }
  T& operator*() { return get(); }
  T* operator->() { return std::addressof(get()); }

 private:
  static void destroy(void* value) noexcept { delete static_cast<T*>(value); }
  static void* copy(const void* value) {
    if constexpr (std::is_copy_constructible_v<T>) return new T(*static_cast<const T*>(value));
    return nullptr;
  }
  static constexpr detail::local_operations kOwn{&destroy, nullptr};
  static constexpr detail::local_operations kCopied{&destroy, std::is_copy_constructible_v<T> ? &copy : nullptr};
  const detail::local_operations* operations_;
};

}  // namespace weft
