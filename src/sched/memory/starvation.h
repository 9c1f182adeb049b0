// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "base/atomic.h"

// For tests (WEFT_DEBUG=starve): an M that looks for work or for a P is made to sleep for a while, as the kernel may do
// to any thread at any moment on a loaded machine. The other threads must get on without it.
//   Length   1 ms to 2 s, each doubling of it as likely as the others. All sleeps together take at most a fifth of the
//            time since begin(), so that the program under test still makes progress.
namespace weft::sched {

class Starvation {
 public:
  void begin(std::uint64_t seed, std::int64_t now_ns) noexcept;
  bool on() const noexcept { return on_; }

  // Returns how long the caller has to sleep now; 0: not at all.
  std::int64_t draw(std::int64_t now_ns) noexcept;
  // Draws, and sleeps.
  void visit() noexcept;

 private:
  bool on_ = false;  // written before there is a second thread
  std::int64_t begun_ns_ = 0;
  base::Atom<std::uint64_t> drawn_{0};
  base::Atom<std::int64_t> spent_ns_{0};
};

}  // namespace weft::sched
