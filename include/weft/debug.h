// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <string_view>

#include "weft/labels.h"

// Seeing inside a running program. Profiles are in pprof's format, gzipped: `go tool pprof FILE` and other tools read
// them.
namespace weft::debug {

// Samples where threads compute, `hz` times (1 to 10,000) per second of each thread's CPU time. Also WEFT_CPUPROFILE=FILE.
// Uses SIGPROF. Throws logic_error if a profile is being taken or the program handles that signal itself, and
// std::system_error if the file cannot be written.
void start_cpu_profile(const std::filesystem::path& file, int hz = 100);
// Writes the file. Throws std::system_error if that fails, logic_error if nothing was started.
void stop_cpu_profile();

enum class profile {
  goroutine,  // every goroutine's stack, now
  block,      // where goroutines wait now, and how long they have waited so far (sleepers do not count)
  mutex,      // what the holders of locks do now, and how long others have waited for them so far
  thread,     // every thread, and what it runs
  leak,       // goroutines that nothing can wake any more (runtime::find_leaks)
};
// Stops the world for the moment that it takes to look.
void write_profile(profile kind, std::ostream& out);

// Serves a page about the running program, /metrics for Prometheus, and /debug/pprof/ as Go does, from a thread of its
// own: it answers when every processor is stuck. Also WEFT_DEBUG_ADDR=HOST:PORT. Destroying it stops it.
class server {
 public:
  server() noexcept;
  server(server&&) noexcept;
  server& operator=(server&&) noexcept;
  ~server();
  std::uint16_t port() const noexcept;  // 0: it has stopped
  void stop();

 private:
  friend server serve(std::string_view address);
  struct state;
  std::unique_ptr<state> state_;
};
// Port 0: a free one. An address that other machines reach demands a token, from WEFT_DEBUG_TOKEN or made up and printed.
// Throws std::invalid_argument if the address is none, std::system_error if the system refuses it.
[[nodiscard]] server serve(std::string_view address = "127.0.0.1:0");

}  // namespace weft::debug
