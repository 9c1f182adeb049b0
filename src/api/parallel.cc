// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <new>

#include "api/shared_range.h"
#include "base/atomic.h"
#include "os/clock.h"
#include "weft/detail/happens_before.h"
#include "weft/detail/parallel_work.h"
#include "weft/error.h"
#include "weft/event.h"
#include "weft/go.h"
#include "weft/runtime.h"

// parallel_for and parallel_reduce.
//   Units     The range is cut into units of `grain` indices, or more where it has more than 2^32 of them. A worker's
//             range of units is one word (api/shared_range.h).
//   Workers   The caller has the whole range first, and starts one helper. A helper steals half of what some worker has
//             left, and only if it got something starts two more. So a loop that is over soon costs one `go`, and a
//             machine without an idle P runs the loop in one goroutine.
//   Pieces    A worker runs as many units at once as took 10 us by the last measurement, but at most a quarter of what
//             it has left (or 1 us), so that the end of the loop is shared, too. What is not begun can always be
//             stolen: a preempted or blocked worker delays one piece.
//   End       A worker that finds nothing to steal leaves. The caller then waits for those that are in a piece.
//   Lifetime  The loop is counted by all goroutines that were started for it, because some may begin after its end.
namespace weft::detail {
namespace {

constexpr std::uint64_t kPieceNs = 10'000, kLastPieceNs = 1'000;
constexpr unsigned kInvitedByHelper = 2;

// How many units a worker runs at once.
class Pace {
 public:
  std::uint32_t choose(std::uint32_t left) const noexcept {
    const std::uint32_t most = std::max(std::max(left / 4, last_), std::uint32_t{1});
    return std::min(std::min(piece_, most), left);
  }
  void measure(std::uint32_t units, std::uint64_t ticks) noexcept {
    const std::uint64_t ns = std::max<std::uint64_t>(ticks * 1000 / os::ticks_per_us(), 1);
    piece_ = fitting(units, ns, kPieceNs);
    last_ = fitting(units, ns, kLastPieceNs);
  }

 private:
  // At most four times as many as were measured, because one measurement may have met the cheap part.
  static std::uint32_t fitting(std::uint32_t units, std::uint64_t ns, std::uint64_t wanted_ns) noexcept {
    const std::uint64_t fit = std::min(units * wanted_ns / ns, std::uint64_t{units} * 4);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fit, 1, std::numeric_limits<std::uint32_t>::max()));
  }
  std::uint32_t piece_ = 1, last_ = 1;
};

class Loop {
 public:
  Loop(const parallel_work& work, std::size_t unit, std::uint32_t units)
      : work_(work), unit_(unit), units_(units), lanes_(std::make_unique<Lane[]>(work.width)) {
    lanes_[0].range.put({0, units});
  }

  void run_as_caller() {
    {
      const Membership member(*this, true);
      invite(1);
      serve(0);
    }
    order_acquire(this);
    if (error_) std::rethrow_exception(error_);
  }
  void run_as_helper() {
    if (!gate_.enter()) return;
    const Membership member(*this, false);
    const unsigned worker = entered_.fetch_add_relaxed(1) + 1;
    if (!steal(worker)) return;
    invite(kInvitedByHelper);
    serve(worker);
  }
  void drop() noexcept {
    if (owners_.fetch_sub_acq_rel(1) == 1) delete this;  // pairs: parallel.owners (self)
  }

 private:
  struct alignas(64) Lane {
    SharedRange<> range;
  };
  using Units = SharedRange<>::Units;

  // Leaves, also when f ends the goroutine. Only the caller waits: its loop is over when the last member has gone.
  class Membership {
   public:
    Membership(Loop& loop, bool is_caller) noexcept : loop_(loop), is_caller_(is_caller) {}
    Membership(const Membership&) = delete;
    ~Membership() {
      order_release(&loop_);
      const bool was_last = loop_.gate_.leave();
      if (is_caller_ && !was_last) loop_.over_.wait();
      if (!is_caller_ && was_last) loop_.over_.set();
    }

   private:
    Loop& loop_;
    const bool is_caller_;
  };

  // Starts helpers, up to the width. Without memory for them the loop goes on with those it has.
  void invite(unsigned count) noexcept {
    for (; count != 0; --count) {
      if (invited_.fetch_add_relaxed(1) + 1 >= work_.width) return;
      owners_.fetch_add_relaxed(1);
      try {
        go([this] {
          const std::unique_ptr<Loop, Drop> owned(this);
          run_as_helper();
        });
      } catch (const std::bad_alloc&) {
        drop();
      }
    }
  }

  // Runs what the worker's range has, then what it can steal.
  void serve(unsigned worker) {
    Pace pace;
    SharedRange<>& range = lanes_[worker].range;
    std::uint64_t before = os::ticks();
    do {
      bool fresh = true;
      while (!stopped_.load_relaxed()) {
        const Units units = range.take([&](std::uint32_t left) { return pace.choose(left); });
        if (units.count() == 0) break;
        run_units(worker, fresh, units);
        fresh = false;
        const std::uint64_t now = os::ticks();
        pace.measure(units.count(), now - before);
        before = now;
        preempt_point();
      }
    } while (steal(worker));
  }

  bool steal(unsigned worker) noexcept {
    for (unsigned i = 1; i < work_.width && !stopped_.load_relaxed(); ++i) {
      const Units units = lanes_[(worker + i) % work_.width].range.take_half();
      if (units.count() == 0) continue;
      lanes_[worker].range.put(units);
      return true;
    }
    return false;
  }

  void run_units(unsigned worker, bool fresh, Units units) {
    const std::size_t first = work_.begin + units.low * unit_;
    const std::size_t last = units.high == units_ ? work_.end : work_.begin + units.high * unit_;
    try {
      work_.run(work_.self, worker, fresh, first, last);
    } catch (...) {
      std::exception_ptr error = std::current_exception();
      const bool exits = error == nullptr;  // this_goroutine::exit(), which is no C++ exception
      fail(exits ? std::make_exception_ptr(goroutine_exited()) : std::move(error));
      if (exits) throw;
    }
  }
  void fail(std::exception_ptr error) noexcept {
    if (!failed_.exchange_relaxed(true)) error_ = std::move(error);
    stopped_.store_relaxed(true);
  }

  struct Drop {
    void operator()(Loop* loop) const noexcept { loop->drop(); }
  };

  const parallel_work work_;
  const std::size_t unit_;
  const std::uint32_t units_;
  const std::unique_ptr<Lane[]> lanes_;
  WorkGate<> gate_;
  event over_{"the last pieces of a parallel loop"};
  base::Atom<std::uint32_t> owners_{1};
  base::Atom<unsigned> invited_{0}, entered_{0};
  base::Atom<bool> stopped_{false}, failed_{false};
  std::exception_ptr error_;  // written once, by the worker that set failed_; read by the caller after the end
};

void run_on_goroutine(const parallel_work& work) {
  const std::size_t total = work.end - work.begin, grain = std::max<std::size_t>(work.grain, 1);
  const std::size_t unit = std::max(grain, total / std::numeric_limits<std::uint32_t>::max() + 1);
  const auto units = static_cast<std::uint32_t>((total - 1) / unit + 1);
  if (units == 1 || work.width == 1) return work.run(work.self, 0, true, work.begin, work.end);
  auto* loop = new Loop(work, unit, units);
  struct Owned {
    Loop* loop;
    ~Owned() { loop->drop(); }
  } owned{loop};
  loop->run_as_caller();
}

}  // namespace

unsigned parallel_width() noexcept { return static_cast<unsigned>(runtime::maxprocs()); }

void run_parallel(const parallel_work& work) {
  if (work.begin >= work.end) return;
  if (this_goroutine::get_id() != goroutine_id()) return run_on_goroutine(work);
  spawn([&] { run_on_goroutine(work); }).join();
}

}  // namespace weft::detail
