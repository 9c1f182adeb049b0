// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>

#include "weft/detail/sanitizer.h"  // every public header includes this one

// errno belongs to the goroutine: its value moves with the goroutine from thread to thread. The C library declares that
// the function behind errno always returns the same address. So a compiler keeps the address of the thread on which a
// goroutine used errno first. This function makes no such promise. A program that wants the C library's errno defines
// WEFT_PLAIN_ERRNO, and never uses errno across a call that may switch threads.
#ifndef WEFT_PLAIN_ERRNO
extern "C" int* weft_errno_location() noexcept;
#undef errno
#define errno (*weft_errno_location())
#endif
