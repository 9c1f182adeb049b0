// SPDX-License-Identifier: MIT
#include "api/testing_run.h"
#include "base/random.h"

namespace weft::testing::detail {
namespace {

// A plain bubble: in order of arrival or, with a seed, at random. Goroutines stop only where they wait or yield.
class BubbleOracle final : public policy::Oracle {
 public:
  explicit BubbleOracle(std::uint64_t seed) noexcept : is_random_(seed != 0), random_(seed) {}
  std::size_t next(const std::uint32_t*, std::size_t count, Moment) noexcept override { return choose(count); }
  std::size_t choose(std::size_t count) noexcept override {
    return is_random_ ? random_.below(static_cast<std::uint32_t>(count)) : 0;
  }

 private:
  bool is_random_;
  base::Random random_;
};

}  // namespace

void run_bubble(const bubble_options& options, function call, void* f) {
  struct Task {
    const bubble_options& options;
    function call;
    void* f;
    api::Outcome outcome;
  } task{options, call, f, {}};
  api::as_driver(
      [](void* argument) {
        Task& now = *static_cast<Task*>(argument);
        BubbleOracle oracle(now.options.seed);
        const api::ControlScope scope(false);
        now.outcome = api::drive(oracle, now.call, now.f);
      },
      &task);
  if (task.outcome.error != nullptr) std::rethrow_exception(task.outcome.error);
  if (task.outcome.failed) throw failure(task.outcome.message);
}

}  // namespace weft::testing::detail
