// SPDX-License-Identifier: MIT
#pragma once
#include "policy/classic.h"
#include "sched/model/policy.h"

// Ousterhout's coscheduling, for task forces. All that is in no task force is scheduled as by classic.
//   Rows       The matrix has a column for each P, and a task force stands in one row (sched/model/gangs.h). The rows
//              have turns of one time slice, in which each P prefers the member in its cell. After the last row it is
//              the turn of all that is in no task force.
//   Gaps       A P whose cell is empty, or whose member has parked, runs another member of its column, the one that has
//              waited longest. If there is none it runs what is in no task force.
//   Turn ends  Sysmon asks those Ps to give way that run something else than they should.
//   Columns    A member becomes runnable for its column, wherever its waker runs. A P that runs members takes its next
//              one itself. The members of a P that is idle, or runs something else, can be taken by any thief: work
//              never waits beside an idle P for the sake of its row.
//   Late       A member is put into its column by any P, so it can come in the moment in which the column's P goes idle
//              after a blocking call, and nobody is woken for it. Then its waker's P takes it at its next search, or
//              sysmon wakes an M after 4 ms (help_neglected_work).
//   Parking    A member that parks while others of its force run waits for about two switches first (dispatch.cc).
namespace weft::policy {

class Matrix final : public sched::Policy {
 public:
  std::string_view name() const noexcept override { return "matrix"; }
  bool attach(sched::Processor& p) noexcept override { return others_.attach(p); }
  void drain(sched::Processor& p, sched::RunnableList& out) noexcept override;
  sched::Place ready(sched::Processor& p, sched::Runnable runnable, sched::Why why,
                     sched::Known known) noexcept override;
  sched::Pick next(sched::Processor& p, sched::Runnable due) noexcept override;
  sched::Pick exchange(sched::Processor& p, sched::Runnable yielding) noexcept override;
  sched::Theft steal(sched::Processor& thief, sched::Effort effort, const std::uint32_t* seen_ticks) noexcept override;
  bool offers(const sched::Processor* except) const noexcept override;
  sched::Load load(const sched::Processor& p) const noexcept override;
  std::uint32_t room(const sched::Processor& p) const noexcept override { return others_.room(p); }
  void visit(const sched::Processor& p, sched::Visitor visitor) const noexcept override;
  sched::Processor* tick(std::int64_t now_ns) noexcept override;
  std::int64_t next_tick_ns() const noexcept override;
  bool pauses_before_parking() const noexcept override { return true; }

 private:
  sched::Pick next_beside_members(sched::Processor& p, sched::Runnable due) noexcept;
  bool runs_out_of_turn(const sched::Processor& p) noexcept;

  Classic others_;
  // Sysmon's.
  std::int64_t turn_ends_ns_ = 0;
  std::uint32_t next_asked_ = sched::kMaxProcessors;  // the next P that may have to give way for this turn
};

}  // namespace weft::policy
