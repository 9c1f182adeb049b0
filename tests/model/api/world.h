// SPDX-License-Identifier: MIT
#pragma once
#include <sys/wait.h>
#include <unistd.h>
#include <cstdlib>

#include "os/clock.h"
#include "sched/core/dispatch.h"

#include "model/relacy_atomics.h"

// The stage for models of the API (api/, sched/waiter.*): sources as they ship, over the stand-ins beside this file.
//   Threads     0 .. Threads-1 act as goroutines, or as plain threads where world.is_thread says so.
//   Time        with a clock, one more thread fires pending timers whenever the search lets it.
//   Wake-ups    a lost one shows as a deadlock or an execution without end; ready() finds a doubled or stray one.
//   Mutants     text mutants are sources changed by tests/support/make_mutant.py, each linked to its own program; order mutants
//               weaken the accesses of a file or function (Fault). Both must fail, or the model proves nothing.
namespace weft::model {

template <int Threads, bool HasClock = false>
class ApiSimulation : public Simulation<Threads + (HasClock ? 1 : 0)> {
 public:
  ApiSimulation() {
    sched::world = &world;
    os::futexes = &futexes_;
    os::model_now_ns = 1;
  }
  virtual void act(unsigned id) = 0;
  // Those of the clock: the time of whatever is pending has come.
  virtual void fire_timers() {
    advance_clock();
    run_due_timers(os::kForever - 1);
  }

  void before() override {
    world.running.store_relaxed(Threads);
    prepare();
  }
  virtual void prepare() {}

  void thread(unsigned id) override {
    if (id == Threads) {
      while (world.running.load_acquire() != 0) {
        fire_timers();
        rl::yield(1, RL_INFO);
      }
      return;
    }
    act(id);
    RL_ASSERT(!world.goroutines[id].is_waiting && !world.goroutines[id].is_ready);
    world.running.fetch_sub_acq_rel(1);
  }

  sched::World world;

 protected:
  void advance_clock() {  // to the next timer, if that is still to come
    const std::int64_t next = world.processor.timers.next_ns();
    if (next != os::kForever) os::model_now_ns = std::max(os::model_now_ns, next);
  }
  void run_due_timers(std::int64_t now_ns) {
    sched::DueSleepers sleepers;
    world.processor.timers.run_due(now_ns, false, sleepers);
    for (std::uint32_t i = 0; i < sleepers.count; ++i) sched::ready(sleepers.goroutines[i]);
  }

 private:
  os::FutexTable futexes_;
};

// Whether this program was linked with a mutant of the sources (ctest says so).
inline bool is_mutant() { return std::getenv("WEFT_MODEL_MUTANT") != nullptr; }

// The sources that ship must pass, a mutant of them must be found out. In a process of its own: one that leaves waiters behind on stacks that are
// gone may crash, which is found out, too.
template <class Model, Scheduler Kind>
testing::AssertionResult judge(const Search<Kind>& search) {
  if (!is_mutant()) return holds<Model>(search);
  const pid_t child = fork();
  if (child == 0) _exit(explore<Model>(search).result == rl::test_result_success ? 0 : 1);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child)
    return testing::AssertionFailure() << "no process for the mutant";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return testing::AssertionFailure() << "the mutant passed";
  return testing::AssertionSuccess();
}

// With weaker orders in one place.
template <class Model, Scheduler Kind>
testing::AssertionResult is_caught_with(const Fault& wrong, const Search<Kind>& search) {
  fault = wrong;
  const Verdict verdict = explore<Model>(search);
  fault = {};
  if (verdict.result != rl::test_result_success) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the mutant passed " << verdict.executions << " executions";
}

}  // namespace weft::model
