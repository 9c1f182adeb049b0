// SPDX-License-Identifier: MIT
#pragma once

// The version of these headers. CMakeLists.txt has the same number, and the build refuses another.
#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0
// To compare: #if WEFT_VERSION >= 1002000 is "1.2.0 or newer".
#define WEFT_VERSION (WEFT_VERSION_MAJOR * 1000000 + WEFT_VERSION_MINOR * 1000 + WEFT_VERSION_PATCH)
#define WEFT_VERSION_STRING "0.1.0"
