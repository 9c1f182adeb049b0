// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>

extern "C" {
int library_compute_until(const std::atomic<bool>* stop);
long library_result(int seed);
int library_starts_threads();
}
