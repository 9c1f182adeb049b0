// SPDX-License-Identifier: MIT
// No wake-up is lost between whoever submits work and the Ms that give up their Ps, with the idle word, run queue and note
// that ship. The steps are those of wake_for_queued_work() and wake_one() on one side, find_runnable(), retire() and
// come_back() on the other (sched/core/arrivals.cc, machines.cc, search.cc).
#include "sched/queue/idle_word.h"
#include "sched/queue/run_queue.h"

#include "model/ledger.h"
#include "model/model_note.h"
#include "model/relacy_atomics.h"

namespace weft::model {
namespace {

struct Protocol {
  static constexpr bool kLooksAgain = true;  // after giving up the P
  static constexpr bool kPassesItOn = true;  // the last spinner that finds work makes another one (A22)
  static constexpr bool kYields = false;     // the second item is submitted as yield() does
};
struct Yielding : Protocol {
  static constexpr bool kYields = true;
};
struct WithoutSecondLook : Protocol {
  static constexpr bool kLooksAgain = false;
};
struct WithoutSuccessor : Protocol {
  static constexpr bool kPassesItOn = false;
};

// A plain thread submits two items; two Ms with a P each look for work, and sleep when they find none. The item that is run
// first ends only when the other one has been run, so both Ms must get one: a lost wake-up shows as a deadlock (everybody
// sleeps) or as an execution without end (one waits, the other sleeps).
template <class Mutation, class Steps>
struct SubmitAndRetire : Simulation<3> {
  static constexpr unsigned kItems = 2;
  static constexpr std::uint32_t kMaxprocs = 2;
  using Atomics = RelacyAtomics<Mutation>;

  struct Machine {
    std::int32_t p = -1;
    bool spinning = false;
    os_model::Note note;
    RelacyAtom<std::int32_t> next_p{-1};
    bool next_spinning = false;
    bool idle = false;  // under lock
  };

  sched::IdleWord<Atomics, kMaxprocs> idle;
  sched::RunQueue<unsigned, 2, Atomics> queue;
  Ledger<kItems> ledger;
  Machine machines[2];
  rl::mutex lock;
  RelacyAtom<unsigned> over{0};

  void before() override {
    for (int i = 0; i < 2; ++i) machines[i].p = i;
  }

  void thread(unsigned id) override {
    if (id == 2) {
      submit();
    } else {
      work(machines[id]);
    }
  }

  void submit() {
    for (unsigned item = 1; item <= kItems; ++item) {
      ledger.put(item);
      if (Steps::kYields && item == kItems && yield(item)) return;
      RL_ASSERT(queue.push(item));
      Atomics::full_fence();
      wake_for_work();
    }
  }
  // The item goes behind the other one, which this thread runs, unless a thief has taken both. False: nothing else to run.
  bool yield(unsigned item) {
    bool pushed;
    const unsigned other = queue.exchange(item, pushed);
    if (!pushed) return false;
    wake_for_work();
    if (other != 0) {
      ledger.take(other);
      run();
    }
    return true;
  }
  void wake_for_work() {
    const sched::IdleView view = idle.look();
    if (view.idle() > 0 && view.spinning() == 0) wake_one();
  }

  void wake_one() {
    const std::int32_t index = idle.pop_for_new_spinner();
    if (index < 0) return;
    Machine* target = nullptr;
    lock.lock(RL_INFO);
    for (Machine& m : machines)
      if (m.idle) target = &m;
    RL_ASSERT(target != nullptr);  // its M was on the list before the P could be taken
    target->idle = false;
    target->next_spinning = true;
    target->next_p.store_release(index);
    lock.unlock(RL_INFO);
    target->note.signal();
  }

  void work(Machine& m) {
    while (over.load_acquire() == 0) {
      if (const unsigned item = find(m)) {
        leave_search(m);
        ledger.take(item);
        run();
        continue;
      }
      if (retire(m)) sleep(m);
    }
  }
  unsigned find(Machine& m) {
    unsigned item = 0;
    if (queue.pop_half(&item, 1) == 1) return item;
    if (!m.spinning) m.spinning = idle.try_start_spinning(kMaxprocs);
    return m.spinning && queue.pop_half(&item, 1) == 1 ? item : 0;
  }
  void leave_search(Machine& m) {
    if (!m.spinning) return;
    m.spinning = false;
    const sched::IdleView before = idle.stop_spinning();
    if (Steps::kPassesItOn && before.spinning() == 1 && before.idle() > 0) wake_one();
  }
  // True: no P any more.
  bool retire(Machine& m) {
    lock.lock(RL_INFO);
    if (!idle.push(static_cast<std::uint32_t>(m.p), m.spinning, kMaxprocs)) {  // W2: goes on looking
      lock.unlock(RL_INFO);
      rl::yield(1, RL_INFO);
      return false;
    }
    m.idle = true;
    m.spinning = false;
    m.p = -1;
    lock.unlock(RL_INFO);
    Atomics::full_fence();
    return !(Steps::kLooksAgain && !queue.empty() && come_back(m));
  }
  bool come_back(Machine& m) {
    bool back = false;
    lock.lock(RL_INFO);
    if (m.idle) {
      m.p = idle.pop_spinning();
      back = m.p >= 0;
      m.idle = !back;
      m.spinning = back;
    }
    lock.unlock(RL_INFO);
    return back;
  }
  void sleep(Machine& m) {
    while (over.load_acquire() == 0) {
      m.p = m.next_p.load_acquire();
      if (m.p >= 0) {
        m.next_p.store_relaxed(-1);
        m.spinning = m.next_spinning;
        return;
      }
      m.note.wait();
    }
  }
  void run() {
    if (ledger.count() == kItems) {
      over.store_release(1);
      for (Machine& m : machines) m.note.signal();
    }
    while (over.load_acquire() == 0) rl::yield(1, RL_INFO);
  }

  void invariant() override { RL_ASSERT(idle.look().spinning() <= kMaxprocs); }
  void after() override { ledger.check_all_taken(); }
};

template <class Mutation, class Steps = Protocol>
using Model = SubmitAndRetire<Mutation, Steps>;

constexpr std::initializer_list<rl::test_result_e> kLostWakeUp = {rl::test_result_deadlock, rl::test_result_livelock};

TEST(SubmitRetireModel, loses_no_wake_up) { EXPECT_TRUE(holds<Model<Faithful>>(random_search(250'000))); }

TEST(SubmitRetireModel, loses_no_wake_up_of_a_goroutine_that_yields) {
  EXPECT_TRUE((holds<Model<Faithful, Yielding>>(random_search(250'000))));
}
TEST(SubmitRetireModel, finds_a_yield_without_a_fence) {
  EXPECT_TRUE((is_caught<Model<WithoutFences, Yielding>>(random_search(200'000), kLostWakeUp)));
}

TEST(SubmitRetireModel, finds_an_m_that_does_not_look_again_after_giving_up_its_p) {
  EXPECT_TRUE((is_caught<Model<Faithful, WithoutSecondLook>>(random_search(50'000), kLostWakeUp)));
}
TEST(SubmitRetireModel, finds_missing_fences) {
  EXPECT_TRUE((is_caught<Model<WithoutFences>>(random_search(200'000), kLostWakeUp)));
}
TEST(SubmitRetireModel, finds_a_last_spinner_that_leaves_without_a_successor) {
  EXPECT_TRUE((is_caught<Model<Faithful, WithoutSuccessor>>(random_search(50'000), kLostWakeUp)));
}

}  // namespace
}  // namespace weft::model
