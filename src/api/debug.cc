// SPDX-License-Identifier: MIT
#include "weft/debug.h"

#include <cerrno>
#include <fstream>
#include <ostream>
#include <string>
#include <system_error>

#include "api/cpu_profile.h"
#include "api/sample_signal.h"
#include "api/start.h"
#include "api/thread_locals.h"
#include "profile/cpu_profiler.h"
#include "service/deadlock.h"
#include "weft/error.h"
#include "weft/go.h"

namespace weft {
namespace {

const sched::LabelSet* labels_of_thread() noexcept {
  const sched::Locals* locals = api::find_thread_locals();
  return locals != nullptr ? locals->labels.share() : nullptr;
}

std::ofstream profile_file;  // guarded by the profiler: there is one profile at a time
std::string profile_path;

[[noreturn]] void cannot_write(const std::string& path) {
  throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(),
                          "weft: debug::start_cpu_profile: cannot write " + path);
}

}  // namespace

void api::begin_cpu_profile(int hz) {
  if (hz < 1 || hz > 10'000) throw logic_error("weft: debug::start_cpu_profile: expected 1 to 10000 samples a second");
  handle_sample_signal("debug::start_cpu_profile");
  const int error = blocking([hz] {
    return profile::start_cpu_profile({labels_of_thread, service::add_helper_thread}, hz, sample_signal());
  });
  if (error == EBUSY) throw logic_error("weft: debug::start_cpu_profile: a profile is being taken already");
  if (error != 0)
    throw std::system_error(error, std::generic_category(), "weft: debug::start_cpu_profile: cannot take a profile");
}

std::optional<profile::Profile> api::end_cpu_profile() {
  return blocking([] { return profile::stop_cpu_profile(); });
}

namespace debug {

void start_cpu_profile(const std::filesystem::path& file, int hz) {
  api::ensure_started();
  errno = 0;
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!out) cannot_write(file.string());
  api::begin_cpu_profile(hz);
  profile_file = std::move(out);
  profile_path = file.string();
}

void stop_cpu_profile() {
  api::ensure_started();
  if (!profile_file.is_open()) throw logic_error("weft: debug::stop_cpu_profile: no profile was started");
  const std::optional<weft::profile::Profile> taken = api::end_cpu_profile();
  const std::string encoded = taken ? blocking([&] { return taken->encode(); }) : std::string();
  std::ofstream out = std::move(profile_file);
  profile_file = std::ofstream();
  errno = 0;
  out.write(encoded.data(), static_cast<std::streamsize>(encoded.size()));
  out.close();
  if (!out) cannot_write(profile_path);
}

}  // namespace debug
}  // namespace weft
