// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>

#include "weft/detail/sanitizer.h"  // every public header comes here

// errno belongs to the goroutine: its value moves with it from thread to thread. The C library says of the function behind errno that it always
// gives the same address, so a compiler keeps that of the thread where a goroutine used errno first. This one makes no such promise. Who
// would rather have the C library's errno defines WEFT_PLAIN_ERRNO, and uses errno only between two calls that may switch.
#ifndef WEFT_PLAIN_ERRNO
extern "C" int* weft_errno_location() noexcept;
#undef errno
#define errno (*weft_errno_location())
#endif
