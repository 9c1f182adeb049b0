// SPDX-License-Identifier: MIT
#pragma once
// Included before each source that is compiled for the models of the API: what the sources take from the standard library comes
// before relacy, whose headers change the language; then std::atomic, as public headers know it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/atomic.h"
