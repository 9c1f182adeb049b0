// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "os/memory.h"
#include "sched/model/goroutine.h"
#include "sched/model/hooks.h"
#include "sched/observe/wake_source.h"

// The waiting goroutines of a search for leaks (leak_search.h), and who of them is alive.
//   Members    All goroutines that wait for another one to do something. All others are alive.
//   Alive      awake() once for each; next_awake() gives them out, so that their stacks are searched.
//   Doomed     members of a cycle of locks and joins, and who waits for one of them: never alive.
//   Followers  Members that are alive as soon as another goroutine is: they wait for its end, or for an object on its
//              stack.
namespace weft::sched {

class LeakGraph {
 public:
  struct Follow;
  struct Member {
    Goroutine* g;
    Member* holder;    // waits for a lock or the end of that member; null: of none
    Follow* followers;  // a list
    Member* next_awake;
    bool is_awake, is_doomed, is_in_cycle, is_timed, was_walked;
  };

  struct Follow {
    Member* member;
    Follow* next;
  };

  LeakGraph() noexcept = default;
  LeakGraph(const LeakGraph&) = delete;
  ~LeakGraph();

  bool open() noexcept;  // false: no memory
  std::size_t size() const noexcept { return count_; }
  std::size_t wakers() const noexcept { return wakers_; }  // of all members

  Member* find(const Goroutine* g) const noexcept;
  void set_timed(Goroutine* sleeper) noexcept;
  // The timer of a wait with a time limit lies on the stack of the goroutine that waits.
  void set_timed_by(const void* timer) noexcept;
  void find_cycles() noexcept;

  // The members of cycles themselves, without those that wait for them.
  template <class Visit>  // visit(Goroutine*)
  void for_each_in_cycle(Visit visit) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (members_[i].is_in_cycle) visit(members_[i].g);
  }
  template <class Visit>  // visit(Member&, const WakeSource&)
  void for_each_waker(Visit visit) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      struct Context {
        LeakGraph* graph;
        Member* member;
        Visit* visit;
      } context{this, &members_[i], &visit};
      if (members_[i].is_timed) awake(members_[i]);
      const bool is_known = hooks.tell_wakers(members_[i].g, [](void* raw, const WakeSource& waker) {
        const auto& to = *static_cast<Context*>(raw);
        if (waker.kind == WakeSource::Kind::kGoroutine) to.graph->follow_by_id(*to.member, waker);
        (*to.visit)(*to.member, waker);
      }, &context);
      if (!is_known) awake(members_[i]);
    }
  }

  void awake(Member& member) noexcept;
  void follow(Member& member, const Goroutine* leader) noexcept;
  // A living goroutine or root has the address of a word in g's stack.
  void reach_stack(Goroutine* g, std::uintptr_t address) noexcept;
  Member* next_awake() noexcept;
  std::size_t collect(Goroutine** out, std::size_t max) const noexcept;

 private:
  struct ById {
    std::uint64_t id;
    Goroutine* g;
  };
  Goroutine* goroutine_of(const WakeSource& waker) const noexcept;
  void follow_by_id(Member& member, const WakeSource& waker) noexcept;

  Member* members_ = nullptr;
  std::size_t count_ = 0, wakers_ = 0, room_ = 0;
  Follow* follows_ = nullptr;
  std::size_t follow_count_ = 0;
  ById* by_id_ = nullptr;    // all goroutines, by the low halves of their ids
  std::size_t all_ = 0;
  Member* awake_ = nullptr;  // a list
};

}  // namespace weft::sched
