// SPDX-License-Identifier: MIT
#include <ostream>
#include <string>

#include "api/leak_profile.h"
#include "api/start.h"
#include "profile/goroutine_profile.h"
#include "weft/debug.h"
#include "weft/error.h"
#include "weft/go.h"

namespace weft::debug {
namespace {

weft::profile::Profile look(profile kind) {
  switch (kind) {
    case profile::goroutine: return runtime::stop_the_world(weft::profile::goroutine_profile);
    case profile::block:     return runtime::stop_the_world(weft::profile::block_profile);
    case profile::mutex:     return runtime::stop_the_world(weft::profile::mutex_profile);
    case profile::thread:    return runtime::stop_the_world(weft::profile::thread_profile);
    case profile::leak:      return api::leak_profile();
  }
  throw logic_error("weft: debug::write_profile: there is no such profile");
}

}  // namespace

void write_profile(profile kind, std::ostream& out) {
  api::ensure_started();
  const weft::profile::Profile taken = look(kind);
  const std::string encoded = blocking([&] { return taken.encode(); });
  out.write(encoded.data(), static_cast<std::streamsize>(encoded.size()));
}

}  // namespace weft::debug
