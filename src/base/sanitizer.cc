// SPDX-License-Identifier: MIT
#include "base/sanitizer.h"

// Programs built with the same sanitizer refer to these names, so that linking the plain library fails
// (include/weft/detail/sanitizer.h).
extern "C" {
#if WEFT_TSAN
extern const char weft_link_the_library_built_with_fsanitize_thread;
const char weft_link_the_library_built_with_fsanitize_thread = 1;
#endif
#if WEFT_ASAN
extern const char weft_link_the_library_built_with_fsanitize_address;
const char weft_link_the_library_built_with_fsanitize_address = 1;
#endif
}
