// SPDX-License-Identifier: MIT
#pragma once
#include <weft/weft.h>

#include <cstddef>
#include <sstream>
#include <string>

#include "support/expect.h"
#include "support/waiting.h"

namespace weft::test {

// How many goroutines are parked for a reason that begins so ("I/O", "sleep"), as a dump says.
inline std::size_t parked_for(const std::string& reason) {
  std::ostringstream text;
  runtime::dump(text);
  const std::string dump = text.str(), wanted = " [" + reason;
  std::size_t count = 0;
  for (std::size_t at = 0; (at = dump.find(wanted, at)) != std::string::npos; ++at) ++count;
  return count;
}

// Until so many goroutines are parked. The numbers are looked at first, because a dump stops the world.
inline void until_parked(std::size_t count, const std::string& reason = "I/O") {
  WEFT_EXPECT(spin_until([&] { return runtime::read_stats().waiting >= count && parked_for(reason) >= count; }));
}

}  // namespace weft::test
