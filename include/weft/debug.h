// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <iosfwd>

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
  block,      // where goroutines wait, and how long
  mutex,      // what holders of locks do while others wait
  thread,     // every thread, and what it runs
  leak,       // goroutines that nothing can wake any more
};
// Stops the world for the moment that it takes to look.
void write_profile(profile kind, std::ostream& out);

}  // namespace weft::debug
