// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "policy/controlled.h"
#include "weft/testing.h"

// One run of a function in a bubble.
//   Driver    The goroutine that calls drive(). It gets the token of the team (policy/controlled.h) when nothing else
//             of the bubble can run. Then it wakes a goroutine that settles, or moves the clock to the next timer, or
//             sees that the bubble has ended, well or not.
//   Failures  The first one counts. A goroutine that fails (fail(), an exception that nothing catches, abort, a crash)
//             parks for ever where it is. Then nothing of the bubble runs any more.
//   Left over goroutines keep their stacks, because other goroutines' frames may be linked with theirs. They are never
//             resumed: the policy drops whatever wakes them.
namespace weft::api {

struct Outcome {
  bool failed = false;
  std::string message;
  std::exception_ptr error;  // what a goroutine threw; null: there is only the message
};

// On the driver. Installs the policy, and takes it away.
class ControlScope {
 public:
  explicit ControlScope(bool wants_checks);
  ~ControlScope();
  ControlScope(const ControlScope&) = delete;
};

// On the driver, inside a ControlScope.
Outcome drive(policy::Oracle& oracle, testing::detail::function call, void* f);

// Runs body as the driver, in a goroutine of its own, while no other bubble runs.
void as_driver(testing::detail::function body, void* argument);

// "goroutine 3 (started at bank.cpp:41)"
std::string describe_member(const policy::Member* member);

// Called in a signal handler before the process dies.
void set_dying_words(void (*print)() noexcept) noexcept;

}  // namespace weft::api
