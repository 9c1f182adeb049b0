// SPDX-License-Identifier: MIT
// A policy that differs from classic in every choice, to show that the seam (sched/model/policy.h) leaves them to the policy: one
// list for each P in strict order, no slot, and no stealing: a P without work asks another one to give way, and the P that
// gives way moves half of its list to the global queue. With WEFT_TEST_POLICY=round_robin it takes the place of classic in
// the conformance and stress tests, which are linked with this file; with WEFT_TEST_POLICY=matrix that policy does.
#include <cstdlib>
#include <string_view>

#include "runtime/policies.h"
#include "sched/state/scheduler.h"

namespace weft::test {
namespace {

using namespace sched;

class RoundRobin final : public Policy {
 public:
  constexpr RoundRobin() = default;
  std::string_view name() const noexcept override { return "round_robin"; }
  bool attach(Processor&) noexcept override { return true; }

  void drain(Processor& p, RunnableList& out) noexcept override {
    out.append(of(p).waiting);
    publish(of(p));
  }

  Place ready(Processor& p, Runnable runnable, Why, Known) noexcept override {
    List& list = of(p);
    list.waiting.push(runnable);
    publish(list);
    return Place::kOffered;  // another P can get it by asking
  }

  Pick next(Processor& p, Runnable due) noexcept override {
    List& list = of(p);
    if (due) return {due};
    const bool is_asked = list.asked.exchange_acq_rel(false);  // pairs: round_robin.asked
    const std::size_t gives = is_asked ? list.waiting.size() / 2 : 0;
    if (gives > 0) {  // to the global queue, where any P finds it
      RunnableList half;
      for (std::size_t left = list.waiting.size() / 2; left > 0; --left) half.push(list.waiting.pop());
      scheduler.inject.push(half);
    }
    const Runnable first = list.waiting.pop();
    publish(list);
    return {first, static_cast<std::uint32_t>(gives)};
  }

  // Nothing is taken from another P: it is asked, and to give way only if it has not dispatched for a while. Otherwise a P
  // without work would preempt the others at each of its looks.
  Theft steal(Processor& thief, Effort effort, const std::uint32_t* seen_ticks) noexcept override {
    for (std::uint32_t i = 0; i < maxprocs(); ++i) {
      if (i == thief.id || lists_[i].size.load_relaxed() == 0) continue;
      lists_[i].asked.store_release(true);  // pairs: round_robin.asked
      Processor* p = scheduler.processors[i];
      if (effort == Effort::kDesperate && p->tick.load_relaxed() == seen_ticks[i]) return {Runnable(), p};
    }
    return {};
  }

  bool offers(const Processor* except) const noexcept override {
    for (std::uint32_t i = 0; i < maxprocs(); ++i)
      if ((except == nullptr || i != except->id) && lists_[i].size.load_relaxed() > 0) return true;
    return false;
  }
  Load load(const Processor& p) const noexcept override {
    return {.offered = lists_[p.id].size.load_relaxed()};
  }
  std::uint32_t room(const Processor&) const noexcept override { return UINT32_MAX / 2; }
  void visit(const Processor& p, Visitor visitor) const noexcept override { lists_[p.id].waiting.for_each(visitor); }

 private:
  struct List {
    RunnableList waiting;               // the owner's
    base::Atom<std::uint32_t> size{0};  // of it, for others
    base::Atom<bool> asked{false};      // another P wants some
  };
  List& of(const Processor& p) noexcept { return lists_[p.id]; }
  static void publish(List& list) noexcept { list.size.store_relaxed(static_cast<std::uint32_t>(list.waiting.size())); }

  List lists_[kMaxProcessors];
};

constinit RoundRobin round_robin;
[[maybe_unused]] const bool is_chosen = [] {
  const char* wanted = std::getenv("WEFT_TEST_POLICY");
  if (wanted == nullptr) return false;
  if (std::string_view(wanted) == "matrix") {
    runtime::substitute_classic(runtime::policy_of(policy_kind::matrix));
    return true;
  }
  if (std::string_view(wanted) != round_robin.name()) return false;
  runtime::substitute_classic(round_robin);
  return true;
}();

}  // namespace
}  // namespace weft::test
