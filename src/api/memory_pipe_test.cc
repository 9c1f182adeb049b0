// SPDX-License-Identifier: MIT
#include "api/memory_pipe.h"

#include <gtest/gtest.h>
#include <weft/net.h>
#include <weft/weft.h>

#include <atomic>
#include <chrono>

#include "base/delay_site.h"

// Stretches the critical moment of a wait in a pipe: a context is cancelled after a call has looked at it and before
// the call is queued. (Builds without debug checks have no delay, so there the test says less.)
namespace weft {
namespace {

using namespace std::chrono_literals;

TEST(MemoryPipe, a_cancellation_between_the_look_and_the_wait_is_not_lost) {
  base::set_delay_seed(1);
  run({.maxprocs = 2}, [] {
    auto [one, other] = net::pipe();
    for (int round = 0; round < 300; ++round) {
      auto [ctx, cancel] = with_cancel(context::background());
      std::atomic<bool> begun{false};
      auto call = spawn([&, &end = one, &given = ctx] {
        std::error_code error;
        char buffer[1] = {};
        begun = true;
        if (round % 2 == 0) {
          end.read(given, buffer, error);
        } else {
          end.write(given, std::span<char>(buffer), error);
        }
        return error;
      });
      while (!begun) this_goroutine::yield();
      cancel();
      ASSERT_TRUE(call.wait_for(20s)) << "a lost wake-up in round " << round;
      ASSERT_EQ(call.join(), std::errc::operation_canceled);
    }
  });
  base::set_delay_seed(0);
}

}  // namespace
}  // namespace weft
