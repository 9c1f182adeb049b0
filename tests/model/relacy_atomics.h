// SPDX-License-Identifier: MIT
#pragma once
// Include this last: relacy's macros rename parts of the language and of libc for everything after it.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <source_location>
#include <string>

#include <relacy/relacy.hpp>
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst

// base/atomic.h's named operations over relacy's simulated atomics, so that the lock-free classes that ship are what gets
// explored: RunQueue<int, 4, RelacyAtomics<>> is run_queue.h, word for word.
//   Model     C++11: relaxed loads may see old values, fences and seq_cst as in the standard; interleavings by relacy.
//   Mutants   a Mutation weakens one kind of operation everywhere in the class under test. A test that passes with its
//             mutants too proves nothing, so each model asserts that its mutants are caught.
//   Limits    relacy keeps the last three values of an atomic, and knows C++11's release sequences (a relaxed store by
//             the thread of the release store continues it), which C++20 has given up.
namespace weft::model {

// What ships.
struct Faithful {
  static constexpr rl::memory_order kStoreRelease = rl::mo_release;
  static constexpr rl::memory_order kLoadAcquire = rl::mo_acquire;
  static constexpr bool kFences = true;         // full_fence() is one
  static constexpr bool kAtomicCas = true;      // else: compare, then store
  static constexpr bool kAtomicExchange = true;  // else: load, then store
  static constexpr bool kOrderedCas = true;     // else: every read-modify-write is relaxed
  static constexpr std::uint64_t kIgnored = 0;  // bits that a CAS does not compare
};

template <class T, class Mutation = Faithful>
class RelacyAtom {
  using Where = std::source_location;

 public:
  RelacyAtom() : value_(T{}) {}
  RelacyAtom(T initial) : value_(initial) {}  // NOLINT(google-explicit-constructor): as std::atomic
  RelacyAtom(const RelacyAtom&) = delete;
  RelacyAtom& operator=(const RelacyAtom&) = delete;

  T load_relaxed(Where at = Where::current()) const { return value_.load(rl::mo_relaxed, info(at)); }
  T load_acquire(Where at = Where::current()) const { return value_.load(Mutation::kLoadAcquire, info(at)); }
  T load_seq_cst(Where at = Where::current()) const { return value_.load(rl::mo_seq_cst, info(at)); }
  void store_relaxed(T v, Where at = Where::current()) { value_.store(v, rl::mo_relaxed, info(at)); }
  void store_release(T v, Where at = Where::current()) { value_.store(v, Mutation::kStoreRelease, info(at)); }
  void store_seq_cst(T v, Where at = Where::current()) { value_.store(v, rl::mo_seq_cst, info(at)); }

  T exchange_relaxed(T v, Where at = Where::current()) { return exchange(v, rl::mo_relaxed, at); }
  T exchange_acquire(T v, Where at = Where::current()) { return exchange(v, rmw(rl::mo_acquire), at); }
  T exchange_acq_rel(T v, Where at = Where::current()) { return exchange(v, rmw(rl::mo_acq_rel), at); }
  T exchange_seq_cst(T v, Where at = Where::current()) { return exchange(v, rmw(rl::mo_seq_cst), at); }

  bool cas_relaxed(T& expected, T desired, Where at = Where::current()) {
    return cas(expected, desired, rl::mo_relaxed, at);
  }
  bool cas_acquire(T& expected, T desired, Where at = Where::current()) {
    return cas(expected, desired, rl::mo_acquire, at);
  }
  bool cas_release(T& expected, T desired, Where at = Where::current()) {
    return cas(expected, desired, rl::mo_release, at);
  }
  bool cas_acq_rel(T& expected, T desired, Where at = Where::current()) {
    return cas(expected, desired, rl::mo_acq_rel, at);
  }
  bool cas_seq_cst(T& expected, T desired, Where at = Where::current()) {
    return cas(expected, desired, rl::mo_seq_cst, at);
  }

  T fetch_add_relaxed(T v, Where at = Where::current()) { return value_.fetch_add(v, rl::mo_relaxed, info(at)); }
  T fetch_add_acq_rel(T v, Where at = Where::current()) { return value_.fetch_add(v, rmw(rl::mo_acq_rel), info(at)); }
  T fetch_add_seq_cst(T v, Where at = Where::current()) { return value_.fetch_add(v, rmw(rl::mo_seq_cst), info(at)); }
  T fetch_sub_release(T v, Where at = Where::current()) { return value_.fetch_sub(v, rmw(rl::mo_release), info(at)); }
  T fetch_sub_acq_rel(T v, Where at = Where::current()) { return value_.fetch_sub(v, rmw(rl::mo_acq_rel), info(at)); }
  T fetch_or_relaxed(T v, Where at = Where::current()) { return value_.fetch_or(v, rl::mo_relaxed, info(at)); }
  T fetch_or_acq_rel(T v, Where at = Where::current()) { return value_.fetch_or(v, rmw(rl::mo_acq_rel), info(at)); }
  T fetch_or_seq_cst(T v, Where at = Where::current()) { return value_.fetch_or(v, rmw(rl::mo_seq_cst), info(at)); }
  T fetch_and_relaxed(T v, Where at = Where::current()) { return value_.fetch_and(v, rl::mo_relaxed, info(at)); }
  T fetch_and_acq_rel(T v, Where at = Where::current()) { return value_.fetch_and(v, rmw(rl::mo_acq_rel), info(at)); }
  T fetch_and_seq_cst(T v, Where at = Where::current()) { return value_.fetch_and(v, rmw(rl::mo_seq_cst), info(at)); }

  // What it is now, whatever this thread may have seen of it. For the futex of the model, and for final checks.
  T debug_value() const { return value_.debug_value(); }
  rl::atomic<T>& raw() { return value_; }

 private:
  static rl::debug_info info(const Where& at) { return {"", at.file_name(), at.line()}; }
  static constexpr rl::memory_order rmw(rl::memory_order order) {
    return Mutation::kOrderedCas ? order : rl::mo_relaxed;
  }

  T exchange(T v, rl::memory_order order, const Where& at) {
    if constexpr (!Mutation::kAtomicExchange) {
      const T seen = value_.load(rl::mo_acquire, info(at));
      value_.store(v, rl::mo_release, info(at));
      return seen;
    }
    return value_.exchange(v, order, info(at));
  }

  bool cas(T& expected, T desired, rl::memory_order order, const Where& at) {
    order = rmw(order);
    const bool acquires = order == rl::mo_acquire || order == rl::mo_acq_rel || order == rl::mo_seq_cst;
    const rl::memory_order failure = acquires ? rl::mo_acquire : rl::mo_relaxed;
    if constexpr (!Mutation::kAtomicCas) {
      const T seen = value_.load(failure, info(at));
      if (seen != expected) {
        expected = seen;
        return false;
      }
      value_.store(desired, rl::mo_relaxed, info(at));
      return true;
    }
    if constexpr (Mutation::kIgnored != 0) {
      const T now = value_.debug_value();
      if (((now ^ expected) & ~static_cast<T>(Mutation::kIgnored)) == 0) expected = now;
    }
    return value_.compare_exchange(rl::bool_t<false>(), expected, desired, order, failure, info(at));
  }

  rl::atomic<T> value_;
};

template <class Mutation = Faithful>
struct RelacyAtomics {
  template <class T>
  using atom = RelacyAtom<T, Mutation>;

  static void full_fence() {
    if constexpr (Mutation::kFences) rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO);
  }
  static void full_fence_after_rmw() { full_fence(); }  // only x86-64's operations are fences themselves
};

struct WithoutFences : Faithful {
  static constexpr bool kFences = false;
};
struct WithoutRelease : Faithful {
  static constexpr rl::memory_order kStoreRelease = rl::mo_relaxed;
};
struct WithoutAcquire : Faithful {
  static constexpr rl::memory_order kLoadAcquire = rl::mo_relaxed;
};
struct WithoutAtomicCas : Faithful {
  static constexpr bool kAtomicCas = false;
};
struct WithoutAtomicExchange : Faithful {
  static constexpr bool kAtomicExchange = false;
};
struct WithoutOrderedCas : Faithful {
  static constexpr bool kOrderedCas = false;
};

// --- running ---

enum class Scheduler { kRandom, kBounded, kFull };

// The kind is part of the type: relacy instantiates a whole simulator for each model and kind.
template <Scheduler Kind>
struct Search {
  rl::iteration_t iterations = 0;  // random: how many
  unsigned context_bound = 0;      // bounded: every execution with at most so many switches that nothing forced
};
inline Search<Scheduler::kRandom> random_search(rl::iteration_t iterations) { return {.iterations = iterations}; }
inline Search<Scheduler::kBounded> bounded_search(unsigned switches) { return {.context_bound = switches}; }
inline Search<Scheduler::kFull> full_search() { return {}; }

constexpr unsigned kStepsWithoutEnd = 2'000;  // an execution of so many steps counts as one that never ends

struct Verdict {
  rl::test_result_e result;
  rl::iteration_t executions;
  std::string report;  // of a failure: what every thread did
};

// A model: what each thread does, what holds before, after and at every step.
template <int Threads>
class Simulation {
 public:
  static constexpr int kThreads = Threads;
  virtual ~Simulation() = default;
  virtual void before() {}
  virtual void thread(unsigned id) = 0;
  virtual void after() {}
  virtual void invariant() {}
};

// What relacy sees of it. Compiling its simulator takes seconds, so there is one for each number of threads, not for each model.
template <int Threads>
class Stage : public rl::test_suite<Stage<Threads>, Threads> {
 public:
  static inline Simulation<Threads>* (*construct)(void* storage);

  Stage() : model_(construct(storage_)) {}
  ~Stage() { model_->~Simulation(); }
  void before() { model_->before(); }
  void thread(unsigned id) { model_->thread(id); }
  void after() { model_->after(); }
  void invariant() { model_->invariant(); }

 private:
  alignas(64) static inline std::byte storage_[16384];
  Simulation<Threads>* model_;

  template <class Model, Scheduler Kind>
  friend Verdict explore(const Search<Kind>& search);
};

template <class Test, Scheduler Kind>
struct SimulatorOf {
  using type = rl::random_scheduler<Test::params::thread_count>;
};
template <class Test>
struct SimulatorOf<Test, Scheduler::kBounded> {
  using type = rl::context_bound_scheduler<Test::params::thread_count>;
};
template <class Test>
struct SimulatorOf<Test, Scheduler::kFull> {
  using type = rl::full_search_scheduler<Test::params::thread_count>;
};

// rl::simulate() for one kind of search: a failure is run a second time, with its history.
template <class Model, Scheduler Kind>
Verdict explore(const Search<Kind>& search) {
  using Test = Stage<Model::kThreads>;
  using Simulator = typename SimulatorOf<Test, Kind>::type;
  static_assert(sizeof(Model) <= sizeof Test::storage_ && alignof(Model) <= 64);
  Test::construct = [](void* storage) -> Simulation<Model::kThreads>* { return ::new (storage) Model; };
  rl::ostringstream report, progress, state, same_state;  // they allocate behind the back of relacy's operator new
  rl::test_params parameters;
  parameters.output_stream = &report;
  parameters.progress_stream = &progress;
  parameters.search_type = Kind == Scheduler::kRandom    ? rl::sched_random
                           : Kind == Scheduler::kBounded ? rl::sched_bound
                                                         : rl::sched_full;
  parameters.iteration_count = search.iterations;
  parameters.context_bound = search.context_bound;
  parameters.execution_depth_limit = kStepsWithoutEnd;
  if (rl::run_test<Test, Simulator>(parameters, state, false) != rl::test_result_success) {
    parameters.initial_state = state.str();
    parameters.collect_history = true;
    rl::run_test<Test, Simulator>(parameters, same_state, true);
  }
  const auto said = report.str();
  std::string text(said.begin(), said.end());
  for (char& c : text)
    if (c == '\0') c = '0';  // an atomic byte is written as a character
  return {parameters.test_result, parameters.stop_iteration, text};
}

template <class Model, Scheduler Kind>
testing::AssertionResult holds(const Search<Kind>& search) {
  const Verdict verdict = explore<Model>(search);
  if (verdict.result == rl::test_result_success)
    return testing::AssertionSuccess() << verdict.executions << " executions";
  return testing::AssertionFailure() << verdict.report;
}

// The mutant must be found out, and for one of the reasons it was made for.
template <class Mutant, Scheduler Kind>
testing::AssertionResult is_caught(const Search<Kind>& search, std::initializer_list<rl::test_result_e> as) {
  const Verdict verdict = explore<Mutant>(search);
  for (const rl::test_result_e reason : as)
    if (verdict.result == reason) return testing::AssertionSuccess();
  if (verdict.result == rl::test_result_success)
    return testing::AssertionFailure() << "the mutant passed " << verdict.executions << " executions";
  return testing::AssertionFailure() << "the mutant failed for another reason:\n" << verdict.report;
}

inline constexpr std::initializer_list<rl::test_result_e> kWrongResult = {rl::test_result_user_assert_failed,
                                                                          rl::test_result_data_race};

}  // namespace weft::model
