// SPDX-License-Identifier: MIT
#pragma once

// What this build can promise: sanitizers are slow, use more memory and forbid some tricks.
namespace weft::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAsan = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kAsan = true;
#else
inline constexpr bool kAsan = false;
#endif
#else
inline constexpr bool kAsan = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kTsan = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kTsan = true;
#else
inline constexpr bool kTsan = false;
#endif
#else
inline constexpr bool kTsan = false;
#endif

inline constexpr bool kSanitized = kAsan || kTsan;
inline constexpr int kSlowdown = kTsan ? 8 : kAsan ? 3 : 1;

// A number of repetitions or goroutines that fits the build.
constexpr int scaled(int count) { return count / kSlowdown > 0 ? count / kSlowdown : 1; }

}  // namespace weft::test
