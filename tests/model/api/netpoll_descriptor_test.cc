// SPDX-License-Identifier: MIT
// service/netpoll_descriptor.h and .cc as they ship: operations that begin and end by one step of one word, queue for their side, wait for
// the poller's reports, and are ended by close, deadlines and cancellation. The kernel is stand_ins/service/netpoll.h; the steps of
// those who read are api/socket.h's repeat() and api/net_conn.cc's receive_with_hints(), with limits of one.
//
// mutant: begins_on_a_closed_one in service/netpoll_descriptor.h, caught by the_number_is_closed_once_when_nobody_uses_it
//   -     if (WEFT_UNLIKELY((refs & (kClosed | taken_bit(side) | queued_bit(side))) != 0)) return false;
//   +     if (WEFT_UNLIKELY((refs & (taken_bit(side) | queued_bit(side))) != 0)) return false;
// mutant: leaves_a_closed_one_in_one_step in service/netpoll_descriptor.h, caught by the_number_is_closed_once_when_nobody_uses_it
//   -     if (WEFT_UNLIKELY((refs & (kClosed | queued_bit(side))) != 0)) return false;
//   +     if (WEFT_UNLIKELY((refs & queued_bit(side)) != 0)) return false;
// mutant: refers_to_a_closed_one in service/netpoll_descriptor.cc, caught by one_of_two_closes_it
//   -     if ((refs & kClosed) != 0) return false;
//   +     if (false) return false;
// mutant: ends_beside_one_that_queues in service/netpoll_descriptor.h, caught by one_at_a_time_has_a_side
//   -     if (WEFT_UNLIKELY((refs & (kClosed | queued_bit(side))) != 0)) return false;
//   +     if (WEFT_UNLIKELY((refs & kClosed) != 0)) return false;
// mutant: queues_without_saying_so in service/netpoll_descriptor.cc, caught by one_at_a_time_has_a_side
//   -         refs, refs | ((refs & taken_bit(side)) != 0 ? queued_bit(side) : taken_bit(side)))) {
//   +         refs, refs | ((refs & taken_bit(side)) != 0 ? 0 : taken_bit(side)))) {
// mutant: forgets_those_who_still_queue in service/netpoll_descriptor.cc, caught by one_at_a_time_has_a_side
//   -   std::uint32_t free = direction.queue.empty() ? queued_bit(side) : 0;
//   +   std::uint32_t free = queued_bit(side);
// mutant: keeps_the_side_it_leaves in service/netpoll_descriptor.cc, caught by the_number_is_closed_once_when_nobody_uses_it
//   -     free |= taken_bit(side);
//   +     free |= 0;
// mutant: parks_without_looking_again in service/netpoll_descriptor.cc, caught by closing_wakes_who_waits_and_who_queues
//   -   } else if (reason_to_stop(side, interrupt) != 0 && direction.gate.call_off()) {
//   +   } else if (false) {
// mutant: closes_without_waking_the_queue in service/netpoll_descriptor.cc, caught by closing_wakes_who_waits_and_who_queues
//   -   sched::wake_all(queued);
//   +
// mutant: queues_although_it_is_cancelled in service/netpoll_descriptor.cc, caught by a_cancelled_one_leaves_the_others_waiting
//   -     if (const int error = reason_to_stop(side, interrupt)) {
//   +     if (const int error = 0) {
// mutant: parks_although_it_is_ready in service/netpoll_descriptor.cc, caught by no_report_is_lost
//   -   bool parks = direction.gate.begin_wait();
//   +   direction.gate.begin_wait(); bool parks = true;
// mutant: trusts_short_reads_at_the_end in service/netpoll_descriptor.cc, caught by no_report_is_lost
//   -     suspicious_.store_seq_cst(true);  // pairs: descriptor.suspicious
//   +
// mutant: interrupts_before_it_has_expired in service/netpoll_descriptor.cc, caught by a_deadline_ends_a_wait_that_has_begun
//   -   descriptor->at(side).expired.store_seq_cst(true);  // pairs: gate.flags
//   -   descriptor->interrupt(side);
//   +   descriptor->interrupt(side); descriptor->at(side).expired.store_seq_cst(true);
// mutant: lets_an_old_deadline_come in service/netpoll_descriptor.cc, caught by a_cleared_deadline_comes_no_more
//   -     sched::stop_timer(&direction.deadline);
//   +
// mutant: starts_a_timer_after_the_end in service/netpoll_descriptor.cc, caught by a_closed_one_leaves_no_timer
//   -     if (is_closed())
//   +     if (false)
// mutant: tells_the_kernel_first in service/netpoll_descriptor.cc, caught by whoever_relies_on_the_level_is_told_when_it_ends
//   -   level_.store_seq_cst(false);  // pairs: descriptor.level
//   -   if (++level_left_ == kMostChanges) level_refused_.store_relaxed(true);
//   -   WEFT_DELAY_SITE("descriptor.before_edge");
//   -   netpoll().watch(*this, false);
//   +   netpoll().watch(*this, false); level_.store_seq_cst(false);
// mutant: stays_by_level_beside_a_writer in service/netpoll_descriptor.cc, caught by whoever_relies_on_the_level_is_told_when_it_ends
//   -   if (side == Side::kWrite) leave_level_for_writing();
//   +
#include "service/netpoll_descriptor.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "service/netpoll.h"

#include "model/api/world.h"

// Instead of the C library's, for the number of the model's descriptor.
extern "C" int close(int number) {
  if (number != weft::service::Netpoll::kNumber) return static_cast<int>(syscall(SYS_close, number));
  weft::service::netpoll().close_number();
  return 0;
}

namespace weft::model {
namespace {

using service::Descriptor;
using service::Operation;
using service::Side;

constexpr std::int64_t kSoon = 1'000'000, kLater = os::kForever - 1;

template <int Threads, bool HasClock = false>
struct WithDescriptor : ApiSimulation<Threads, HasClock> {
  service::Netpoll kernel;
  Descriptor descriptor;
  bool closes = false;  // the simulation's own knowledge

  void prepare() override { kernel.adopt(descriptor); }
  void after() override {
    RL_ASSERT(kernel.times_closed == (closes ? 1u : 0u));
    RL_ASSERT(service::Netpoll::is_at_rest(descriptor, closes));
  }

  // One message, 0 for the end, or the negative errno.
  int receive(const service::Interrupt* interrupt = nullptr) {
    Operation operation(descriptor, Side::kRead, interrupt);
    if (operation.error() != 0) return -operation.error();
    for (;;) {
      const int size = kernel.read(1);
      if (size != -EAGAIN) return size;
      if (const int error = operation.wait()) return -error;
    }
  }
  void close() {
    closes = true;
    RL_ASSERT(descriptor.close());
    RL_ASSERT(kernel.times_closed == 1);
  }
};

// --- the word: references and sides ---

template <int Threads, int Rounds>
struct Turns : WithDescriptor<Threads> {
  rl::var<unsigned> count{0};
  unsigned inside = 0;
  void act(unsigned) override {
    for (int i = 0; i < Rounds; ++i) {
      Operation operation(this->descriptor, Side::kRead);
      RL_ASSERT(operation.error() == 0);
      RL_ASSERT(inside++ == 0);
      count(RL_INFO) = count(RL_INFO).load() + 1;
      RL_ASSERT(--inside == 0);
    }
  }
  void after() override {
    WithDescriptor<Threads>::after();
    RL_ASSERT(count(RL_INFO).load() == Threads * Rounds);
  }
};

TEST(NetpollDescriptorModel, one_at_a_time_has_a_side) { EXPECT_TRUE((judge<Turns<3, 1>>(random_search(30'000)))); }
TEST(NetpollDescriptorModel, one_at_a_time_has_a_side_again_and_again) {
  EXPECT_TRUE((judge<Turns<2, 3>>(random_search(20'000))));
}
TEST(NetpollDescriptorModel, finds_an_end_without_order) {
  EXPECT_TRUE((is_caught_with<Turns<2, 1>>({"Descriptor::try_end", Fault::kUnordered}, random_search(30'000))));
}
TEST(NetpollDescriptorModel, finds_a_beginning_in_two_steps) {
  EXPECT_TRUE((is_caught_with<Turns<2, 1>>({"Descriptor::try_begin", Fault::kSplit}, random_search(30'000))));
}
TEST(NetpollDescriptorModel, finds_an_end_in_two_steps) {
  EXPECT_TRUE((is_caught_with<Turns<2, 1>>({"Descriptor::try_end", Fault::kSplit}, random_search(30'000))));
}

// One holds a side until the other one has held the other side.
struct Sides : WithDescriptor<2> {
  RelacyAtom<unsigned> in_use{0};
  void act(unsigned id) override {
    Operation operation(descriptor, id == 0 ? Side::kRead : Side::kWrite);
    in_use.fetch_add_acq_rel(1);
    while (in_use.load_acquire() != 2) rl::yield(1, RL_INFO);
  }
};
TEST(NetpollDescriptorModel, the_sides_are_independent) { EXPECT_TRUE(judge<Sides>(random_search(10'000))); }

// --- closing ---

template <bool SameSide>
struct Closing : WithDescriptor<3> {
  void act(unsigned id) override {
    if (id == 2) {
      close();
      return;
    }
    const Operation operation(descriptor, SameSide || id == 0 ? Side::kRead : Side::kWrite);
    if (operation.error() == 0) {
      kernel.use_number();
    } else {
      RL_ASSERT(closes && operation.error() == EBADF);
    }
  }
};
TEST(NetpollDescriptorModel, the_number_is_closed_once_when_nobody_uses_it) {
  EXPECT_TRUE(judge<Closing<false>>(random_search(40'000)));
}
TEST(NetpollDescriptorModel, the_number_is_closed_once_when_nobody_queues) {
  EXPECT_TRUE(judge<Closing<true>>(random_search(30'000)));
}
TEST(NetpollDescriptorModel, finds_an_end_that_does_not_order_the_use_before_the_close) {
  EXPECT_TRUE((is_caught_with<Closing<false>>({"Descriptor::try_end", Fault::kUnordered}, random_search(40'000))));
}
TEST(NetpollDescriptorModel, finds_a_last_reference_without_order) {
  EXPECT_TRUE((is_caught_with<Closing<false>>({"Descriptor::drop", Fault::kUnordered}, random_search(40'000))));
}

// Whoever is second is told so, also when the number is still open.
struct TwoClose : WithDescriptor<3> {
  unsigned succeeded = 0;
  void act(unsigned id) override {
    if (id == 0) {
      const Operation operation(descriptor, Side::kRead);
      if (operation.error() == 0) kernel.use_number();
    } else {
      closes = true;
      if (descriptor.close()) ++succeeded;
    }
  }
  void after() override {
    WithDescriptor::after();
    RL_ASSERT(succeeded == 1);
  }
};
TEST(NetpollDescriptorModel, one_of_two_closes_it) { EXPECT_TRUE(judge<TwoClose>(random_search(40'000))); }

// The number goes back to its owner, open.
struct Releasing : WithDescriptor<2> {
  void act(unsigned id) override {
    if (id == 0) {
      const int size = receive();
      RL_ASSERT(size == -EBADF);
    } else {
      RL_ASSERT(descriptor.release() == descriptor.fd());
      kernel.use_number();
    }
  }
  void after() override { RL_ASSERT(kernel.times_closed == 0 && service::Netpoll::is_at_rest(descriptor, true)); }
};
TEST(NetpollDescriptorModel, a_released_number_stays_open) { EXPECT_TRUE(judge<Releasing>(random_search(20'000))); }

// --- waiting ---

// Nothing ever arrives. One waits for the kernel, or is about to, the other one for its side.
template <bool AsThread>
struct WaitingAtClose : WithDescriptor<3> {
  void prepare() override {
    WithDescriptor::prepare();
    world.is_thread[0] = AsThread;
  }
  void act(unsigned id) override {
    if (id == 2) {
      close();
    } else {
      RL_ASSERT(receive() == -EBADF);
    }
  }
};
TEST(NetpollDescriptorModel, closing_wakes_who_waits_and_who_queues) {
  EXPECT_TRUE(judge<WaitingAtClose<false>>(random_search(30'000)));
}
TEST(NetpollDescriptorModel, closing_wakes_a_thread_that_waits_and_who_queues) {
  EXPECT_TRUE(judge<WaitingAtClose<true>>(random_search(30'000)));
}
TEST(NetpollDescriptorModel, finds_a_last_look_without_total_order) {
  EXPECT_TRUE(
      is_caught_with<WaitingAtClose<false>>({"Descriptor::reason_to_stop", Fault::kNotSeqCst}, random_search(60'000)));
}

// What the other one waits for comes only when the cancelled one has gone.
struct Cancelling : WithDescriptor<3> {
  service::Interrupt interrupt;
  void act(unsigned id) override {
    if (id == 0) {
      RL_ASSERT(receive() == 1);
    } else if (id == 1) {
      RL_ASSERT(receive(&interrupt) == -ECANCELED);
      kernel.arrive(1);
      kernel.look();
    } else {
      interrupt.raised.store_seq_cst(true);
      descriptor.interrupt(Side::kRead);
    }
  }
};
TEST(NetpollDescriptorModel, a_cancelled_one_leaves_the_others_waiting) {
  EXPECT_TRUE(judge<Cancelling>(random_search(30'000)));
}

// What conn knows about its stream.
struct Hints {
  bool full = false, drained = false;
};

template <int Threads>
struct Stream : WithDescriptor<Threads> {
  Hints hints;
  unsigned to_go = 0;  // who still needs the poller; the simulation's own knowledge

  int receive_with_hints(int most) {
    Operation operation(this->descriptor, Side::kRead);
    RL_ASSERT(operation.error() == 0);
    for (bool wait_first = hints.drained && this->descriptor.trusts_short_reads();; wait_first = false) {
      if (!wait_first) {
        const int size = this->kernel.read(most);
        if (size == -EAGAIN && hints.full) this->descriptor.watch_by_level();
        hints.full = size == most;
        const bool by_level = this->descriptor.is_watched_by_level();
        hints.drained = size > 0 && (!hints.full || by_level);
        if (by_level && size > 0 && !hints.full) this->descriptor.watch_by_edge();
        if (size != -EAGAIN) return size;
      }
      RL_ASSERT(operation.wait() == 0);
    }
  }
  void needs_the_poller_no_more() {
    if (--to_go == 0) this->kernel.finish();
  }
};

// Messages that fill the buffer and such that do not, and the end right behind them.
struct ToTheEnd : Stream<3> {
  int got = 0;
  void act(unsigned id) override {
    if (id == 0) {
      to_go = 1;
      while (const int size = receive_with_hints(2)) got += size;
      needs_the_poller_no_more();
    } else if (id == 1) {
      kernel.arrive(2);
      kernel.arrive(1);
      kernel.hang_up();
    } else {
      kernel.serve();
    }
  }
  void after() override {
    WithDescriptor::after();
    RL_ASSERT(got == 3);
  }
};
TEST(NetpollDescriptorModel, no_report_is_lost) { EXPECT_TRUE(judge<ToTheEnd>(random_search(40'000))); }
TEST(NetpollDescriptorModel, finds_an_end_of_the_stream_without_total_order) {
  EXPECT_TRUE(is_caught_with<ToTheEnd>({"Descriptor::notify", Fault::kNotSeqCst}, random_search(40'000)));
}

// The reader takes one message of two and waits for the report of the other one without looking. A writer has to wait, which ends
// the watching by level at any moment.
struct LeavingLevel : Stream<4> {
  void prepare() override {
    Stream::prepare();
    to_go = 2;
    descriptor.watch_by_level();
  }
  void act(unsigned id) override {
    if (id == 0) {
      for (int got = 0; got < 2;) got += receive_with_hints(1);
      needs_the_poller_no_more();
    } else if (id == 1) {
      kernel.arrive(2);
      kernel.make_room();
    } else if (id == 2) {
      {
        Operation operation(descriptor, Side::kWrite);
        while (!kernel.write()) RL_ASSERT(operation.wait() == 0);
      }
      needs_the_poller_no_more();
    } else {
      kernel.serve();
    }
  }
};
TEST(NetpollDescriptorModel, whoever_relies_on_the_level_is_told_when_it_ends) {
  EXPECT_TRUE(judge<LeavingLevel>(random_search(60'000)));
}

// Closed while the poller is about to change how it is watched, because nobody reads.
struct ClosingByLevel : Stream<2> {
  void prepare() override {
    Stream::prepare();
    descriptor.watch_by_level();
    kernel.arrive(1);
    kernel.hang_up();
  }
  void act(unsigned id) override {
    if (id == 0) {
      close();
      kernel.finish();
    } else {
      kernel.serve();
    }
  }
};
TEST(NetpollDescriptorModel, the_poller_changes_no_number_that_is_closed) {
  EXPECT_TRUE(judge<ClosingByLevel>(random_search(30'000)));
}

// --- deadlines ---

struct Shortened : WithDescriptor<2, true> {
  void act(unsigned id) override {
    if (id == 0) {
      RL_ASSERT(receive() == -ETIMEDOUT);
    } else {
      descriptor.set_deadline(Side::kRead, kLater);
      descriptor.set_deadline(Side::kRead, kSoon);
    }
  }
};
TEST(NetpollDescriptorModel, a_deadline_ends_a_wait_that_has_begun) {
  EXPECT_TRUE(judge<Shortened>(random_search(30'000)));
}

struct Cleared : WithDescriptor<2, true> {
  bool is_cleared = false;
  void act(unsigned id) override {
    if (id == 0) {
      for (;; rl::yield(1, RL_INFO)) {
        const bool was_cleared = is_cleared;
        const int size = receive();
        if (size == 1) break;
        RL_ASSERT(size == -ETIMEDOUT && !was_cleared);
      }
    } else {
      descriptor.set_deadline(Side::kRead, kSoon);
      descriptor.set_deadline(Side::kRead, os::kForever);
      is_cleared = true;
      for (int steps = static_cast<int>(rl::rand(20)); steps > 0; --steps) rl::yield(1, RL_INFO);
      kernel.arrive(1);
      kernel.look();
    }
  }
};
TEST(NetpollDescriptorModel, a_cleared_deadline_comes_no_more) { EXPECT_TRUE(judge<Cleared>(random_search(30'000))); }

struct DeadlineAtClose : WithDescriptor<2> {
  void act(unsigned id) override {
    if (id == 0) {
      descriptor.set_deadline(Side::kRead, kLater);
    } else {
      close();
    }
  }
  void after() override {
    WithDescriptor::after();
    RL_ASSERT(world.processor.timers.size() == 0);
  }
};
TEST(NetpollDescriptorModel, a_closed_one_leaves_no_timer) {
  EXPECT_TRUE(judge<DeadlineAtClose>(random_search(30'000)));
}

}  // namespace
}  // namespace weft::model
