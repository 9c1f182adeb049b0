// SPDX-License-Identifier: MIT
// service/netpoll_descriptor_gate.h under relacy: no report and no interrupt is lost, each waiter is woken once, a late report of an earlier
// life touches nobody. The steps around the gate are those of Descriptor::wait, notify, interrupt and Netpoll::adopt.
#include "service/netpoll_descriptor_gate.h"

#include "model/relacy_atomics.h"

namespace weft::model {
namespace {

constexpr std::uint32_t kLife = 7;

struct Mistakes {
  static constexpr bool kLooksAtFlags = true;      // the waiter, between begin_wait and parking
  static constexpr bool kSetsFlagFirst = true;     // the interrupter
  static constexpr bool kComparesSequence = true;  // the notifier
};
struct WithoutLook : Mistakes {
  static constexpr bool kLooksAtFlags = false;
};
struct FlagAfterwards : Mistakes {
  static constexpr bool kSetsFlagFirst = false;
};
struct AnySequence : Mistakes {
  static constexpr bool kComparesSequence = false;
};

template <class Mutation>
struct Side {
  service::PollGate<RelacyAtomics<Mutation>> gate;
  rl::var<unsigned> who;            // beside the word, as Descriptor's
  RelacyAtom<unsigned> wakeups{0};  // what the sleeper's ready() or note would be
  RelacyAtom<bool> flag{false};

  void wake() {
    RL_ASSERT(who(RL_INFO).load() == 1);
    wakeups.fetch_add_acq_rel(1);
  }
  // True: ready; false: a flag.
  template <class Mistake>
  bool wait() {
    for (;;) {
      if (flag.load_seq_cst()) return false;
      if (gate.take_ready()) return true;
      who(RL_INFO) = 1;
      if (!gate.begin_wait()) return true;
      if (Mistake::kLooksAtFlags && flag.load_seq_cst() && gate.call_off()) return false;
      unsigned one = 1;  // parks until somebody wakes it
      while (!wakeups.cas_acq_rel(one, 0)) {
        one = 1;
        rl::yield(1, RL_INFO);
      }
      if (gate.take_ready()) return true;
    }
  }
};

// The kernel's data, under the kernel's locks (seq_cst): a report follows each arrival, and the reader waits only after it has
// found nothing.
template <class Mutation, class Mistake>
struct Report : Simulation<2> {
  Side<Mutation> side;
  RelacyAtom<unsigned> data{0};
  rl::var<unsigned> contents;

  void before() override { side.gate.open(kLife); }
  void thread(unsigned id) override {
    if (id == 0) {
      for (unsigned i = 1; i <= 2; ++i) {
        data.fetch_add_seq_cst(1);
        if (side.gate.notify(kLife)) side.wake();
      }
      return;
    }
    unsigned left = 2;
    while (left > 0) {
      unsigned there = data.fetch_add_seq_cst(0);
      if (there > 0) {
        if (data.cas_seq_cst(there, there - 1)) --left;
      } else {
        side.template wait<Mistake>();
      }
    }
  }
  void after() override { RL_ASSERT(side.wakeups.debug_value() == 0); }
};

// Nothing ever arrives; a deadline, a close and a late report of an earlier life do.
template <class Mutation, class Mistake>
struct InterruptAndLateReport : Simulation<3> {
  Side<Mutation> side;

  void before() override { side.gate.open(kLife); }
  void thread(unsigned id) override {
    if (id == 0) {
      if (Mistake::kSetsFlagFirst) side.flag.store_seq_cst(true);
      if (side.gate.interrupt()) side.wake();
      if (!Mistake::kSetsFlagFirst) side.flag.store_seq_cst(true);
    } else if (id == 1) {
      if (side.gate.notify(Mistake::kComparesSequence ? kLife - 1 : kLife)) side.wake();
    } else {
      RL_ASSERT(!side.template wait<Mistake>());
    }
  }
  void after() override { RL_ASSERT(side.wakeups.debug_value() == 0); }
};

// Interrupt and report at once: one of them wakes, never both.
template <class Mutation>
struct Both : Simulation<3> {
  Side<Mutation> side;

  void before() override { side.gate.open(kLife); }
  void thread(unsigned id) override {
    if (id == 0) {
      side.flag.store_seq_cst(true);
      if (side.gate.interrupt()) side.wake();
    } else if (id == 1) {
      if (side.gate.notify(kLife)) side.wake();
    } else {
      side.template wait<Mistakes>();
    }
  }
  void after() override { RL_ASSERT(side.wakeups.debug_value() == 0); }
};

const std::initializer_list<rl::test_result_e> kStuck = {rl::test_result_livelock, rl::test_result_deadlock};

TEST(NetpollGateModel, loses_no_report) {
  EXPECT_TRUE((holds<Report<Faithful, Mistakes>>(random_search(200'000))));
  EXPECT_TRUE((holds<Report<Faithful, Mistakes>>(bounded_search(3))));
}
TEST(NetpollGateModel, loses_no_interrupt_and_ignores_late_reports) {
  EXPECT_TRUE((holds<InterruptAndLateReport<Faithful, Mistakes>>(random_search(200'000))));
}
TEST(NetpollGateModel, wakes_once_when_interrupt_and_report_meet) {
  EXPECT_TRUE((holds<Both<Faithful>>(random_search(200'000))));
}
TEST(NetpollGateModel, finds_a_waiter_that_does_not_look_at_the_flags) {
  EXPECT_TRUE((is_caught<InterruptAndLateReport<Faithful, WithoutLook>>(random_search(50'000), kStuck)));
}
TEST(NetpollGateModel, finds_an_interrupter_that_sets_its_flag_too_late) {
  EXPECT_TRUE((is_caught<InterruptAndLateReport<Faithful, FlagAfterwards>>(random_search(50'000), kStuck)));
}
TEST(NetpollGateModel, finds_a_report_that_ignores_the_sequence_number) {
  EXPECT_TRUE((is_caught<InterruptAndLateReport<Faithful, AnySequence>>(random_search(50'000), kWrongResult)));
}

}  // namespace
}  // namespace weft::model
