// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>

// Computing without end, each kind compiled in its own way (run): until the flag is set.
void hog_with_calls(const std::atomic<bool>& stop);     // a check at the entry of a function it calls
void hog_without_calls(const std::atomic<bool>& stop);  // a check in the loop, by the compiler plugin
void hog_in_zlib(const std::atomic<bool>& stop);        // no checks: 0.3 s in one call
void hog_in_sort(const std::atomic<bool>& stop);        // no checks
