// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/atomic.h"
#include "os/spin_lock.h"
#include "sched/model/policy.h"
#include "sched/state/control.h"

// The policy of a test: it stands in front of the process's own policy, and runs the goroutines of one bubble one at a
// time, in the order that an oracle chooses. All other goroutines go to the policy behind it.
//   Team      The goroutines of a bubble. Each has a Member, which children inherit as a goroutine-local value, so that
//             a goroutine's end is seen by the value's destructor.
//   Token     One goroutine of the team, the holder, may run; the others that are runnable wait in `waiting`. The
//             holder gives the token up when next() is called for it: it parks, yields or ends. Until then next() keeps
//             the team's work back, also if the holder is in a blocking call or computes on as an exile.
//   Driver    The goroutine that runs the bubble. It gets the token when nothing else can run, so the P of the team is
//             never without work as long as the bubble lasts.
//   Slot      No P gets a grant out of its slot, so that every goroutine passes through ready() and next().
//   Border    A wake-up of a member by anything but the team, or of another goroutine by a member, is noted in
//             `crossing`: no schedule can be repeated after it. Wake-ups of plain threads are not seen.
//   Lock      lock_ guards the team: threads outside may wake its members at any time.
namespace weft::policy {

struct Team;

struct Member {
  Team* team = nullptr;
  std::uint32_t number = 0;  // by the order of their starts, from 1
  std::int32_t site = 0;     // where it was started
  bool started = false, ended = false;
  sched::Goroutine* g = nullptr;
};

// Who decides. Numbers are those of the members.
class Oracle {
 public:
  virtual ~Oracle() = default;
  // Which one goes on? With `current`, candidates[0] is the running goroutine, at a point.
  enum class Moment : std::uint8_t { kWait, kYield, kPoint, kCheck };
  static constexpr std::size_t kStop = SIZE_MAX;  // this takes too long: nothing of the team runs any more
  virtual std::size_t next(const std::uint32_t* candidates, std::size_t count, Moment moment) noexcept = 0;
  virtual std::size_t choose(std::size_t count) noexcept = 0;
  virtual bool wants_checks() const noexcept { return false; }
  virtual bool wants_points() const noexcept { return false; }
};

struct Team {
  explicit Team(Oracle& decides) noexcept : oracle(decides) {}

  struct Waiting {
    sched::Runnable what;
    sched::Goroutine* g;
    Member* member;
  };
  Oracle& oracle;
  std::deque<Member> members;
  std::vector<Waiting> waiting;
  std::vector<std::uint32_t> numbers;  // for the oracle
  sched::Goroutine* holder = nullptr;
  Member* holder_member = nullptr;
  sched::Goroutine* driver = nullptr;
  bool driver_waits = false;
  bool over = false;              // nothing of it runs any more
  sched::Runnable returned;       // the holder, which was stopped by something else than the oracle
  std::size_t forced = SIZE_MAX;  // the oracle has chosen already
  std::uint32_t processor = 0;
  std::uint32_t alive = 0;  // started and not ended
  std::uint32_t last_number = 0;
  std::uint64_t dispatches = 0;
  bool exhausted = false;          // the oracle has had enough: the team stops
  const char* crossing = nullptr;  // what has crossed the border
  sched::TimerHeap timers;
  base::Atom<std::int64_t> now_ns{sched::kVirtualFromNs};
};

class Controlled final : public sched::Policy {
 public:
  // With the world stopped: puts it in front of the current policy, and away.
  void install() noexcept;
  void remove() noexcept;
  bool is_installed() const noexcept { return installed_; }
  // By the driver. The team that runs from now on; null: none.
  void begin(Team& team) noexcept;
  void end(Team& team) noexcept;
  Team* team() const noexcept { return team_.load_acquire(); }  // pairs: controlled.team
  // May switch. By the holder.
  void at_point(Oracle::Moment moment) noexcept;
  // May switch. By the driver: lets the team run until it cannot go on.
  void let_run() noexcept;
  std::size_t waiting() noexcept;
  // Any thread. A member was woken by a plain thread.
  void admit_from_outside(sched::Goroutine* g) noexcept;

  std::string_view name() const noexcept override { return "controlled"; }
  bool attach(sched::Processor& p) noexcept override;
  void drain(sched::Processor& p, sched::RunnableList& out) noexcept override { behind_->drain(p, out); }
  sched::Place ready(sched::Processor& p, sched::Runnable runnable, sched::Why why,
                     sched::Known known) noexcept override;
  sched::Pick next(sched::Processor& p, sched::Runnable due) noexcept override;
  sched::Theft steal(sched::Processor& thief, sched::Effort effort, const std::uint32_t* seen_ticks) noexcept override {
    return behind_->steal(thief, effort, seen_ticks);
  }
  bool offers(const sched::Processor* except) const noexcept override { return behind_->offers(except); }
  sched::Load load(const sched::Processor& p) const noexcept override;
  std::uint32_t room(const sched::Processor& p) const noexcept override { return behind_->room(p); }
  void visit(const sched::Processor& p, sched::Visitor visitor) const noexcept override { behind_->visit(p, visitor); }
  std::int64_t slice_ns(const sched::Processor& p) const noexcept override { return behind_->slice_ns(p); }
  sched::Processor* tick(std::int64_t now_ns) noexcept override { return behind_->tick(now_ns); }
  bool keeps_work_on_processors() const noexcept override { return behind_->keeps_work_on_processors(); }

 private:
  sched::Runnable choose(sched::Processor& p, Team& team) noexcept;
  void admit(Team& team, sched::Runnable runnable, sched::Goroutine* g, Member* member, sched::Why why) noexcept;

  sched::Policy* behind_ = nullptr;
  bool installed_ = false;
  std::uintptr_t guard_distance_ = 0;
  base::Atom<Team*> team_{nullptr};
  // Without a rank: timers wake members under the lock of their heap.
  struct Locked {
    explicit Locked(os::SpinByte& byte) noexcept : lock(byte) { lock.lock_unranked(); }
    ~Locked() { lock.unlock_unranked(); }
    Locked(const Locked&) = delete;
    os::SpinByte& lock;
  };
  os::SpinByte lock_;
};

Controlled& controlled() noexcept;

// The Member of a goroutine or of a record's future goroutine; null: it has none (any more).
Member* member_of(const sched::Goroutine* g) noexcept;
// The calling goroutine, which is the driver, gives what it starts from now on to the team; or stops that.
void adopt_children(Team& team) noexcept;
void disown_children() noexcept;

}  // namespace weft::policy
