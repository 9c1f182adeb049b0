// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <string>

// The generations of the last seconds, and a trace made of them.
//   Beginning   A window begins in the middle of a session. A goroutine that is first mentioned by a status in a later
//               generation gets that status in the first one too. This is the state it was in, because nothing happened
//               to it in between.
namespace weft::trace {

class FlightWindow {
 public:
  void set_length(std::int64_t ns) noexcept { length_ns_ = ns; }
  void add(std::string generation, std::int64_t ended_ns);
  void clear() noexcept {
    kept_.clear();
    bytes_ = 0;
  }
  bool empty() const noexcept { return kept_.empty(); }

  // The bytes of a whole file.
  std::string snapshot() const;

 private:
  static constexpr std::size_t kMaxBytes = 256 * 1024 * 1024;
  struct Kept {
    std::string bytes;
    std::int64_t ended_ns;
  };
  std::deque<Kept> kept_;
  std::size_t bytes_ = 0;
  std::int64_t length_ns_ = 0;
};

}  // namespace weft::trace
