// SPDX-License-Identifier: MIT
#pragma once

namespace weft::api {

// The signal that asks a thread where it is, for CPU samples of traces and for CPU profiles.
int sample_signal() noexcept;  // SIGPROF
// Handles it from now on. `what` is the function that wants it, for messages. Throws logic_error if the program handles
// the signal itself, std::system_error if the system refuses.
void handle_sample_signal(const char* what);

}  // namespace weft::api
