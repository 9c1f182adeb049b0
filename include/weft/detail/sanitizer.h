// SPDX-License-Identifier: MIT
#pragma once

// A program with -fsanitize=address or thread links the library that was built with it: libweft_asan.a, libweft_tsan.a.
// The plain library does not tell the sanitizer of goroutine switches, so the sanitizer's reports would be false.
// Therefore each object of such a program refers to a name that only the right library defines, and the linker's error
// says what is missing. Shared libraries are exempt, because their program has the runtime.
#if !defined(__PIC__) || defined(__PIE__)
#if defined(__SANITIZE_THREAD__)
#define WEFT_LIBRARY_MARK weft_link_the_library_built_with_fsanitize_thread
#elif defined(__SANITIZE_ADDRESS__)
#define WEFT_LIBRARY_MARK weft_link_the_library_built_with_fsanitize_address
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_LIBRARY_MARK weft_link_the_library_built_with_fsanitize_thread
#elif __has_feature(address_sanitizer)
#define WEFT_LIBRARY_MARK weft_link_the_library_built_with_fsanitize_address
#endif
#endif
#endif

#ifdef WEFT_LIBRARY_MARK
extern "C" const char WEFT_LIBRARY_MARK;
namespace weft::detail {
__attribute__((used)) inline const char* const library_mark = &WEFT_LIBRARY_MARK;
}
#undef WEFT_LIBRARY_MARK
#endif
