// SPDX-License-Identifier: MIT
#pragma once
#include "model/relacy_atomics.h"

// os::process_barrier() for models: what one thread asks for reaches the others between two accesses of theirs.
namespace weft::model {

inline constexpr unsigned kMostThreads = 3;

// A barrier in every thread, asked for by one, as the kernel has it: each of the others passes it at some point between two of its accesses, and
// who asks goes on when all have.
class ProcessBarrier {
 public:
  explicit ProcessBarrier(unsigned threads) : threads_(threads) {}

  void ask() {
    const unsigned me = rl::thread_index();
    for (unsigned other = 0; other < threads_; ++other) {
      if (other == me) continue;
      wires_[me][other].fetch_add_acq_rel(1);
      wanted_[me][other] = true;
    }
    for (unsigned other = 0; other < threads_; ++other) {
      while (wanted_[me][other] && !ended_[other]) {
        pass();
        rl::yield(1, RL_INFO);
      }
      wires_[me][other].fetch_add_acq_rel(0);
      if (ended_[other]) wires_[other][other].fetch_add_acq_rel(0);
      wanted_[me][other] = false;
    }
  }
  // Between two accesses of any thread.
  void maybe_pass() {
    if (rl::rand(2) == 0) pass();
  }
  void pass() {
    const unsigned me = rl::thread_index();
    if (me >= threads_) return;  // before and after the simulation
    for (unsigned asker = 0; asker < threads_; ++asker) {
      if (!wanted_[asker][me]) continue;
      wires_[asker][me].fetch_add_acq_rel(1);
      wanted_[asker][me] = false;
    }
  }
  // A thread that has ended holds nothing back.
  void end() {
    const unsigned me = rl::thread_index();
    wires_[me][me].fetch_add_acq_rel(1);
    ended_[me] = true;
  }

 private:
  const unsigned threads_;
  bool wanted_[kMostThreads][kMostThreads] = {};  // the kernel's: no memory of the model
  bool ended_[kMostThreads] = {};
  RelacyAtom<unsigned> wires_[kMostThreads][kMostThreads];
};
inline ProcessBarrier* barrier;  // of this execution: made by it before anything else

// Atomics of threads that pass barriers between their accesses.
template <class Mutation>
struct InterruptedAtomics {
  template <class T>
  class atom {
    using Where = std::source_location;

   public:
    atom() = default;
    atom(T initial) : value_(initial) {}  // NOLINT(google-explicit-constructor): as std::atomic
    T load_relaxed(Where at = Where::current()) const { return barrier->maybe_pass(), value_.load_relaxed(at); }
    T load_acquire(Where at = Where::current()) const { return barrier->maybe_pass(), value_.load_acquire(at); }
    void store_relaxed(T v, Where at = Where::current()) { barrier->maybe_pass(), value_.store_relaxed(v, at); }
    void store_release(T v, Where at = Where::current()) { barrier->maybe_pass(), value_.store_release(v, at); }
    T exchange_acquire(T v, Where at = Where::current()) {
      return barrier->maybe_pass(), value_.exchange_acquire(v, at);
    }
    T exchange_acq_rel(T v, Where at = Where::current()) {
      return barrier->maybe_pass(), value_.exchange_acq_rel(v, at);
    }
    bool cas_acquire(T& expected, T desired, Where at = Where::current()) {
      return barrier->maybe_pass(), value_.cas_acquire(expected, desired, at);
    }
    bool cas_acq_rel(T& expected, T desired, Where at = Where::current()) {
      return barrier->maybe_pass(), value_.cas_acq_rel(expected, desired, at);
    }

   private:
    RelacyAtom<T, Mutation> value_;
  };
};

struct PassingBackOff {
  void wait() {
    barrier->pass();
    rl::yield(1, RL_INFO);
  }
};

// What asks for barriers and what relies on them.
template <class Mutation>
struct ModelFences {
  using BackOff = PassingBackOff;
  static bool may_rely() { return rl::rand(4) != 0; }
  static void light_fence() {}
  static void heavy_fence() {
    if constexpr (Mutation::kFences) barrier->ask();
  }
};

}  // namespace weft::model
