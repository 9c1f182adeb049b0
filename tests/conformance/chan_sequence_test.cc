// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include <atomic>
#include <memory>
#include <sstream>
#include <string>

#include "support/chan_model.h"
#include "support/runtime_test.h"
#include "support/stress.h"

// Random sequences of channel operations, each compared with the sequential model (support/chan_model.h). A failure prints the seed
// and everything that was done; WEFT_SEQUENCE_SEED=N repeats it.
namespace {

using namespace weft::test;
using Cases = std::vector<ModelCase>;

// Before the runtime starts: scheduling decisions are random, too. Without effect where the user has said something else.
[[maybe_unused]] const int randomised = setenv("WEFT_DEBUG", "randsched=7", 0);

std::uint64_t first_seed() {
  const char* given = std::getenv("WEFT_SEQUENCE_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
}
int sequences(int by_default) { return std::getenv("WEFT_SEQUENCE_SEED") != nullptr ? 1 : scaled(by_default); }

std::string to_string(const Outcome& outcome) {
  static constexpr const char* kNames[] = {"sent", "received", "closed"};
  return std::string(kNames[outcome.kind]) + " case " + std::to_string(outcome.index) + " value " +
         std::to_string(outcome.value);
}

// Channels, the model of them, and a log of what was done.
class Bench {
 public:
  explicit Bench(std::uint64_t seed) : random(seed) {
    log << "seed " << seed << '\n';
    channels.push_back(weft::chan<int>::nil());
    model.add(std::nullopt);
    for (std::size_t capacity : {0u, 1u, 3u}) {
      channels.emplace_back(capacity);
      model.add(capacity);
    }
  }
  // A closed one becomes a new one now and then.
  void renew() {
    for (std::size_t i = 1; i < channels.size(); ++i) {
      if (!model.is_closed(i) || model.has_waiters(i) || random.below(6) != 0) continue;
      const auto capacity = static_cast<std::size_t>(random.below(4));
      channels[i] = weft::chan<int>(capacity);
      model.replace(i, capacity);
      log << "channel " << i << " is new, capacity " << capacity << '\n';
    }
  }
  Cases random_cases(int most) {
    Cases cases;
    for (int n = 1 + random.below(most); n > 0; --n)
      cases.push_back({static_cast<std::size_t>(random.below(static_cast<int>(channels.size()))), random.below(2) == 0,
                       ++next_value});
    return cases;
  }
  void note(const std::string& who, const Cases& cases) {
    log << who;
    for (const ModelCase& one : cases)
      log << (one.is_send ? " send " + std::to_string(one.value) + " to " : " receive from ") << one.channel;
    log << '\n';
  }

  // Runs the cases; nullopt: none was ready (not `blocking`).
  std::optional<Outcome> run(const Cases& cases, bool blocking, bool as_select) {
    if (cases.size() == 1 && !as_select) return run_alone(cases[0], blocking);
    weft::selector selector;
    std::optional<int> received;
    for (const ModelCase& one : cases) {
      if (one.is_send) {
        selector.send(channels[one.channel], one.value);
      } else {
        selector.recv(channels[one.channel], [&](std::optional<int> value) { received = value; });
      }
    }
    try {
      const std::optional<std::size_t> index = blocking ? selector.wait() : selector.try_wait();
      if (!index) return std::nullopt;
      if (cases[*index].is_send) return Outcome{Outcome::kSent, *index, 0};
      return received ? Outcome{Outcome::kReceived, *index, *received} : Outcome{Outcome::kClosed, *index, 0};
    } catch (const weft::logic_error&) {  // which send it was is not said
      return Outcome{Outcome::kClosed, kSomeSend, 0};
    }
  }
  static constexpr std::size_t kSomeSend = static_cast<std::size_t>(-1);

  weft::test::Random random;
  ChanModel model;
  std::vector<weft::chan<int>> channels;
  std::ostringstream log;

 private:
  std::optional<Outcome> run_alone(const ModelCase& one, bool blocking) {
    weft::chan<int> channel = channels[one.channel];
    if (one.is_send) {
      try {
        if (blocking) {
          channel.send(one.value);
          return Outcome{Outcome::kSent, 0, 0};
        }
        int value = one.value;
        const bool sent = channel.try_send(value);
        return sent ? std::optional(Outcome{Outcome::kSent, 0, 0}) : std::nullopt;
      } catch (const weft::logic_error&) {
        return Outcome{Outcome::kClosed, 0, 0};
      }
    }
    if (blocking) {
      const std::optional<int> value = channel.recv();
      return value ? Outcome{Outcome::kReceived, 0, *value} : Outcome{Outcome::kClosed, 0, 0};
    }
    const weft::recv_result<int> result = channel.try_recv();
    if (result.status == weft::chan_status::empty) return std::nullopt;
    return result ? Outcome{Outcome::kReceived, 0, *result.value} : Outcome{Outcome::kClosed, 0, 0};
  }
  int next_value = 0;
};

// What the model makes of what was seen; nothing when the model forbids it.
std::optional<ChanModel::Completed> explain(ChanModel& model, int client, const Cases& cases, const Outcome& seen) {
  for (std::size_t index : model.ready(cases)) {
    if (seen.index != index &&
        !(seen.index == Bench::kSomeSend && cases[index].is_send && model.is_closed(cases[index].channel)))
      continue;
    ChanModel after = model;
    ChanModel::Completed done = after.run(client, cases, index);
    Outcome expected = done[client];
    expected.index = seen.index;
    if (!(expected == seen)) continue;
    done.erase(client);
    model = after;
    return done;
  }
  return std::nullopt;
}

class ChanSequence : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(ChanSequence);

// --- nobody ever waits: every answer is determined, up to the choice among ready cases ---

void run_without_waiting(std::uint64_t seed) {
  Bench bench(seed);
  for (int step = 0; step < 300; ++step) {
    bench.renew();
    if (bench.random.below(30) == 0) {
      const auto channel = static_cast<std::size_t>(bench.random.below(static_cast<int>(bench.channels.size())));
      bench.log << "close " << channel << '\n';
      bool refused = false;
      try {
        bench.channels[channel].close();
      } catch (const weft::logic_error&) {
        refused = true;
      }
      ASSERT_EQ(refused, bench.model.is_nil(channel) || bench.model.is_closed(channel)) << bench.log.str();
      if (!refused) bench.model.close(channel);
      continue;
    }
    const Cases cases = bench.random_cases(bench.random.below(2) == 0 ? 1 : 4);
    bench.note("do:", cases);
    const std::optional<Outcome> seen = bench.run(cases, false, bench.random.below(2) == 0);
    if (!seen) {
      ASSERT_TRUE(bench.model.ready(cases).empty()) << "something was ready\n" << bench.log.str();
    } else {
      ASSERT_TRUE(explain(bench.model, 0, cases, *seen)) << "not allowed: " << to_string(*seen) << '\n'
                                                         << bench.log.str();
    }
    for (std::size_t i = 0; i < bench.channels.size(); ++i) {
      ASSERT_EQ(bench.channels[i].size(), bench.model.size(i)) << "channel " << i << '\n' << bench.log.str();
      ASSERT_EQ(bench.channels[i].closed(), bench.model.is_closed(i)) << "channel " << i << '\n' << bench.log.str();
    }
  }
}

TEST_P(ChanSequence, agrees_with_the_model_where_nobody_waits) {
  weft::run([] {
    for (int i = 0; i < sequences(200) && !HasFailure(); ++i)
      run_without_waiting(first_seed() + static_cast<std::uint64_t>(i));
  });
  for (int i = 0; i < sequences(50) && !HasFailure(); ++i)
    run_without_waiting(first_seed() + 1000 + static_cast<std::uint64_t>(i));
}

// Operations one after the other need one P.
class ChanWaitingSequence : public RuntimeTest {};
INSTANTIATE_TEST_SUITE_P(P, ChanWaitingSequence,
                         testing::Values(Configuration{1, weft::policy_kind::classic},
                                         Configuration{1, weft::policy_kind::global}),
                         configuration_name);

// --- goroutines that wait: who is served, in which order, with what ---

struct Worker {
  enum Phase { kIdle, kBusy, kDone, kQuit };
  weft::binary_semaphore command{0};
  std::atomic<int> phase{kIdle};
  Cases cases;
  bool as_select = false;
  Outcome outcome{};
};

// Everybody who can run has run, on one P: each yield lets all the others go first.
void settle() {
  for (int i = 0; i < 12; ++i) weft::this_goroutine::yield();
}

void run_with_waiting(std::uint64_t seed) {
  Bench bench(seed);
  Worker workers[5];
  weft::wait_group group;
  for (Worker& worker : workers) {
    group.go([&] {
      for (;;) {
        worker.command.acquire();
        if (worker.phase == Worker::kQuit) return;
        worker.outcome = *bench.run(worker.cases, true, worker.as_select);
        worker.phase = Worker::kDone;
      }
    });
  }
  // Those the model completes, and nobody else, are done, with what it says.
  const auto compare = [&](const ChanModel::Completed& expected) {
    const auto all_done = [&] {
      return std::all_of(expected.begin(), expected.end(),
                         [&](const auto& one) { return workers[one.first].phase == Worker::kDone; });
    };
    if (!spin_until(all_done)) return testing::AssertionFailure() << "somebody was not woken\n" << bench.log.str();
    settle();
    for (int i = 0; i < 5; ++i) {
      if (workers[i].phase != Worker::kDone) continue;
      const auto known = expected.find(i);
      Outcome seen = workers[i].outcome;
      if (known == expected.end())
        return testing::AssertionFailure() << "worker " << i << " should wait: " << to_string(seen) << '\n'
                                           << bench.log.str();
      if (seen.index == Bench::kSomeSend) seen.index = known->second.index;
      if (!(seen == known->second))
        return testing::AssertionFailure()
               << "worker " << i << ": " << to_string(seen) << " instead of " << to_string(known->second) << '\n'
               << bench.log.str();
      workers[i].phase = Worker::kIdle;
    }
    return testing::AssertionSuccess();
  };
  const auto command = [&](int i) {
    Worker& worker = workers[i];
    do {
      worker.cases = bench.random_cases(bench.random.below(2) == 0 ? 1 : 4);
    } while (std::all_of(worker.cases.begin(), worker.cases.end(),
                         [&](const ModelCase& one) { return bench.model.is_nil(one.channel); }));
    worker.as_select = bench.random.below(2) == 0;
    bench.note("worker " + std::to_string(i) + ":", worker.cases);
    const bool waits = bench.model.ready(worker.cases).empty();
    worker.phase = Worker::kBusy;
    worker.command.release();
    if (waits) {
      bench.model.wait(i, worker.cases);
      settle();
      return compare({});
    }
    if (!spin_until([&] { return worker.phase == Worker::kDone; }))
      return testing::AssertionFailure() << "it was ready\n" << bench.log.str();
    const auto others = explain(bench.model, i, worker.cases, worker.outcome);
    if (!others)
      return testing::AssertionFailure() << "not allowed: " << to_string(worker.outcome) << '\n' << bench.log.str();
    worker.phase = Worker::kIdle;
    return compare(*others);
  };
  const auto do_without_waiting = [&] {
    const Cases cases = bench.random_cases(2);
    bench.note("driver:", cases);
    const std::optional<Outcome> seen = bench.run(cases, false, bench.random.below(2) == 0);
    if (!seen)
      return bench.model.ready(cases).empty() ? compare({})
                                              : testing::AssertionFailure() << "something was ready\n"
                                                                            << bench.log.str();
    const auto others = explain(bench.model, -1, cases, *seen);
    return others ? compare(*others)
                  : testing::AssertionFailure() << "not allowed: " << to_string(*seen) << '\n'
                                                << bench.log.str();
  };
  const auto close = [&](std::size_t channel) {
    if (bench.model.is_nil(channel) || bench.model.is_closed(channel)) return testing::AssertionSuccess();
    bench.log << "close " << channel << '\n';
    bench.channels[channel].close();
    return compare(bench.model.close(channel));
  };

  settle();
  testing::AssertionResult result = testing::AssertionSuccess();
  for (int step = 0; step < 150 && result; ++step) {
    bench.renew();
    const int who = bench.random.below(6);
    if (bench.random.below(40) == 0) {
      result = close(static_cast<std::size_t>(bench.random.below(static_cast<int>(bench.channels.size()))));
    } else if (who == 5 || bench.model.is_waiting(who)) {
      result = do_without_waiting();
    } else {
      result = command(who);
    }
  }
  for (std::size_t i = 1; i < bench.channels.size() && result; ++i) result = close(i);
  EXPECT_TRUE(result);
  if (!result) {  // let go of everybody, whatever state they are in
    for (weft::chan<int>& channel : bench.channels)
      if (channel && !channel.closed()) channel.close();
    static_cast<void>(spin_until([&] {
      return std::none_of(std::begin(workers), std::end(workers),
                          [](Worker& worker) { return worker.phase == Worker::kBusy; });
    }));
  }
  for (Worker& worker : workers) {
    worker.phase = Worker::kQuit;
    worker.command.release();
  }
  group.wait();
}

TEST_P(ChanWaitingSequence, agrees_with_the_model) {
  weft::run([] {
    for (int i = 0; i < sequences(150) && !HasFailure(); ++i)
      run_with_waiting(first_seed() + static_cast<std::uint64_t>(i));
  });
}

// --- the comparison itself ---

TEST(ChanModel, forbids_what_must_not_happen) {
  ChanModel model;
  model.add(std::nullopt);
  const std::size_t c = model.add(1), d = model.add(0);
  EXPECT_TRUE(model.ready({{0, true, 1}, {0, false, 0}}).empty());
  EXPECT_TRUE(explain(model, 0, {{c, true, 1}}, {Outcome::kSent, 0, 0}));
  EXPECT_TRUE(model.ready({{c, true, 2}}).empty());
  EXPECT_FALSE(explain(model, 0, {{c, false, 0}}, {Outcome::kReceived, 0, 2})) << "another value";
  EXPECT_FALSE(explain(model, 0, {{c, false, 0}}, {Outcome::kClosed, 0, 0})) << "not closed";
  EXPECT_FALSE(explain(model, 0, {{c, false, 0}, {d, false, 0}}, {Outcome::kReceived, 1, 1}))
      << "a case that was not ready";
  model.wait(1, {{c, true, 2}, {d, true, 3}});
  model.wait(2, {{c, true, 4}});
  const auto woken = explain(model, 0, {{c, false, 0}}, {Outcome::kReceived, 0, 1});
  ASSERT_TRUE(woken);
  EXPECT_EQ(*woken, (ChanModel::Completed{{1, {Outcome::kSent, 0, 0}}})) << "the oldest, and only that one";
  EXPECT_TRUE(model.ready({{d, false, 0}}).empty()) << "who was served elsewhere has left";
  EXPECT_EQ(model.close(c), (ChanModel::Completed{{2, {Outcome::kClosed, 0, 0}}}));
}

}  // namespace
