// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"
#include "base/cache_line.h"
#include "os/ranked_mutex.h"
#include "sched/queue/idle_word.h"
#include "sched/queue/runnable.h"
#include "sched/rule/gang_matrix.h"

// Gangs: the members of all task forces (weft::task_force), their cells in the matrix, and those that wait to run.
// There are gangs under every policy, because the policy may change while they live. Only policy/matrix.h runs members
// by their cells.
//   Owned by  lock_ (Rank::kGangs). Columns' counters may be read without it, as a hint. A caller that decides something
//             by them reads them again after a full fence.
//   Member    waits in the list of its column, or runs on some P, or neither (parked, or another policy has it).
//   Big       A force that is larger than a row consists of several teams.
//   Columns   There are as many as Ps. The caller says how many Ps there are now; if that has changed, all members are
//             placed anew.
//   Turns     The rows that hold somebody have turns, and after them all that is in no gang. So neither starves.
//   Together  A force is together while as many of its members run as can: all of them, or one on each P. The time is
//             added up for forces of two and more (stats.corun_ns).
namespace weft::sched {

struct GangForce;

struct GangMember : GangMatrix::Member {
  GangForce* force = nullptr;
  GangMember *next_of_force = nullptr, *previous_of_force = nullptr;
  Runnable waiting;                                                 // nothing: it does not wait here
  GangMember *next_waiting = nullptr, *previous_waiting = nullptr;  // in the list of its column
  std::uint32_t runs_on = GangMatrix::kNowhere;                     // the id of a P
};

struct GangForce {
  struct Team : GangMatrix::Team {
    Team* next = nullptr;
  };
  Team* teams = nullptr;
  GangMember *first = nullptr, *last = nullptr;
  std::uint32_t size = 0;
  base::Atom<std::uint32_t> running{0};
  std::int64_t together_since_ns = 0;  // 0: it is not
  GangForce *next = nullptr, *previous = nullptr;
};

class Gangs {
 public:
  static constexpr std::uint32_t kUngrouped = UINT32_MAX;  // the turn of all that is in no gang

  // --- any thread ---
  void add(GangForce& force) noexcept;
  // False: it has members, because the process exits and runs none of them to its end. It must not be destroyed.
  bool remove(GangForce& force) noexcept;
  // A new member of the force. Throws std::bad_alloc.
  GangMember* join(GangForce& force, std::uint32_t columns);
  void leave(GangMember* member) noexcept;  // ends its life
  std::uint64_t together_ns() const noexcept { return together_ns_.load_relaxed(); }

  // A running member asks. Does another member of its force run, too? The answer may be stale.
  static bool others_run(const GangMember& member) noexcept { return member.force->running.load_relaxed() > 1; }

  // --- the policy ---
  bool any() const noexcept { return members_.load_relaxed() != 0; }
  // The member waits from now on, in the column that is returned.
  std::uint32_t wait(GangMember& member, Runnable runnable, std::uint32_t columns) noexcept;
  std::uint32_t waiting(std::uint32_t column) const noexcept { return columns_[column].waiting.load_relaxed(); }
  // Did this P run a member when it was asked last?
  bool runs_member(std::uint32_t column) const noexcept { return columns_[column].runs.load_relaxed() != nullptr; }
  // Owner of that P. It runs something else from now on.
  void stop_running(std::uint32_t column) noexcept;
  // Owner of P `runs_on`. It runs from now on: the member in the cell of the current row, if that waits, or else the
  // member that has waited longest in the column.
  Runnable take(std::uint32_t column, std::uint32_t runs_on, std::uint32_t columns) noexcept;
  // All that waits in the column. The P is used no more, or by another policy.
  void drain(std::uint32_t column, RunnableList& out) noexcept;
  // Sysmon. The next turn begins.
  void begin_next_turn() noexcept;
  bool is_ungrouped_turn() const noexcept { return turn_.load_relaxed() == kUngrouped; }
  // Sysmon. Does the member wait whose cell is in the current row, while the P runs another?
  bool wants_other(std::uint32_t column) noexcept;
  template <class Visit>
  void for_each_waiting(std::uint32_t column, Visit&& visit) {
    lock_.lock();
    for (const GangMember* one = columns_[column].first; one != nullptr; one = one->next_waiting) visit(one->waiting);
    lock_.unlock();
  }

 private:
  struct alignas(base::kCacheLine) Column {
    base::Atom<std::uint32_t> waiting{0};
    base::Atom<GangMember*> runs{nullptr};
    GangMember *first = nullptr, *last = nullptr;
  };

  // All with the lock held.
  void fit(std::uint32_t columns) noexcept;
  void place(GangMember& member) noexcept;
  GangForce::Team* team_with_room(GangForce& force) noexcept;
  static void remove_team(GangForce& force, GangForce::Team& team) noexcept;
  void remove_from_team(GangMember& member) noexcept;
  void chain(GangMember& member) noexcept;
  void unchain(GangMember& member) noexcept;
  void list(GangMember& member) noexcept;
  void unlist(GangMember& member) noexcept;
  void start(GangMember& member, std::uint32_t column) noexcept;
  void stop(std::uint32_t column) noexcept;
  void judge(GangForce& force) noexcept;

  os::RankedMutex<base::Rank::kGangs> lock_;
  GangMatrix matrix_;
  GangForce* forces_ = nullptr;
  Column columns_[kMaxProcessors];
  base::Atom<std::uint32_t> members_{0}, turn_{0};
  base::Atom<std::uint64_t> together_ns_{0};
};

// One per process, never destroyed: goroutines may run while the process exits.
extern Gangs& gangs;

}  // namespace weft::sched
