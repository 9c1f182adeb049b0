# SPDX-License-Identifier: MIT
# Three sets of flags, each said once:
#   WEFT_USER_OPTIONS  what code using weft is compiled with (exported: CMake, pkg-config and the weft command read it here)
#   weft_flags         what weft's own sources and its unit tests are compiled with
#   weft_warnings      the warnings that must stay silent everywhere in this tree
#   weft_user_warnings those, and the ones a user's strict build adds to what it sees of weft: the public headers

include(CheckCXXCompilerFlag)
find_package(Threads REQUIRED)

# Goroutine stacks end in a guard area: a frame larger than the guard could jump over it, so large frames must probe
# their pages (-fstack-clash-protection). Frame pointers let dumps and profilers walk the stack of a parked goroutine.
set(WEFT_USER_OPTIONS -fstack-clash-protection -fno-omit-frame-pointer)
if(WEFT_ARCH STREQUAL "aarch64" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 18)
  list(REMOVE_ITEM WEFT_USER_OPTIONS -fstack-clash-protection)  # accepted, but ignored with a warning
endif()

# Preemption checks at function entry (src/sched/core/preempt.h). GCC for x86-64 has them; clang's refuse every function of
# variable arguments. With checks GCC leaves code that throws among the rest unless told otherwise (the linkers which that
# confuses are those that ruin the checks, too), and the unwinder then goes through all of a function's rows of call frame information: a
# quarter more instructions per exception.
set(WEFT_CHECK_OPTIONS "")
if(WEFT_ARCH STREQUAL "x86_64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(WEFT_CHECK_OPTIONS -fsplit-stack -freorder-blocks-and-partition)
endif()

# What users link instead of weft::weft to have them. (In the installed package: weft-config.cmake.in.)
set(WEFT_PREEMPTIBLE_OPTIONS "")
foreach(language C CXX)
  list(APPEND WEFT_PREEMPTIBLE_OPTIONS "$<$<COMPILE_LANG_AND_ID:${language},GNU>:-fsplit-stack;-freorder-blocks-and-partition>")
endforeach()
# What is optimised while linking is compiled there, and GCC does not remember that it is to have checks.
set(weft_links_optimised "$<OR:$<BOOL:$<TARGET_PROPERTY:INTERPROCEDURAL_OPTIMIZATION>>,$<BOOL:$<TARGET_PROPERTY:INTERPROCEDURAL_OPTIMIZATION_$<UPPER_CASE:$<CONFIG>>>>>")
set(WEFT_PREEMPTIBLE_LINK_OPTIONS "")
foreach(language C CXX)
  list(APPEND WEFT_PREEMPTIBLE_LINK_OPTIONS
    "$<$<AND:$<LINK_LANG_AND_ID:${language},GNU>,${weft_links_optimised}>:-fsplit-stack;-freorder-blocks-and-partition>")
endforeach()

add_library(weft_warnings INTERFACE)
target_compile_options(weft_warnings INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:
  -Wall -Wextra -Wshadow -Wconversion -Wcast-qual -Wundef -Wformat-security -Wimplicit-fallthrough -Wvla>)
target_compile_options(weft_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:
  -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi>)
target_compile_options(weft_warnings INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>)
if(WEFT_WERROR)
  target_compile_options(weft_warnings INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>)
endif()

# Not for src/: the runtime is GNU C++ on purpose (statement expressions, computed addresses, inline assembly).
add_library(weft_user_warnings INTERFACE)
target_link_libraries(weft_user_warnings INTERFACE weft_warnings)
target_compile_options(weft_user_warnings INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wpedantic>)

add_library(weft_flags INTERFACE)
target_compile_features(weft_flags INTERFACE cxx_std_20)
target_include_directories(weft_flags INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
target_link_libraries(weft_flags INTERFACE Threads::Threads)
# initial-exec: the current goroutine is one %fs-relative load, never a call of __tls_get_addr.
target_compile_options(weft_flags INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:${WEFT_USER_OPTIONS};-ftls-model=initial-exec>)
target_compile_definitions(weft_flags INTERFACE WEFT_DEBUG_CHECKS=$<BOOL:${WEFT_DEBUG_CHECKS}>)

# Sanitizers change the ABI of what they watch: the library and everything linked to it get the same ones.
set(WEFT_SANITIZE_OPTIONS "")
if(WEFT_SANITIZE)
  set(WEFT_SANITIZE_OPTIONS "-fsanitize=${WEFT_SANITIZE}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # sees uninitialised members in instrumented std::regex
    list(APPEND WEFT_SANITIZE_OPTIONS -Wno-maybe-uninitialized)
  endif()
  if(WEFT_SANITIZE MATCHES "undefined")
    # vptr looks at memory through a pipe: with no descriptor left it takes every object for a bad one.
    list(APPEND WEFT_SANITIZE_OPTIONS -fno-sanitize-recover=undefined -fno-sanitize=vptr)
  endif()
  if(WEFT_SANITIZE MATCHES "thread" AND WEFT_TSAN_RUNTIME AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(weft_flags INTERFACE
      $<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize-ignorelist=${CMAKE_CURRENT_SOURCE_DIR}/cmake/tsan_ignore.txt>)
  endif()
endif()

# Such a library has a name of its own, so that it can be installed beside the plain one (cmake/WeftInstall.cmake).
set(WEFT_VARIANT "")
set(WEFT_LIBRARY_SUFFIX "")
if(WEFT_SANITIZE MATCHES "(^|,)(thread|address)(,|$)")
  string(SUBSTRING "${CMAKE_MATCH_2}" 0 1 WEFT_VARIANT)
  string(APPEND WEFT_VARIANT "san")
  set(WEFT_LIBRARY_SUFFIX "_${WEFT_VARIANT}")
endif()

# TSan for users: it looks at what is linked to the library. The library itself is not instrumented, so that its locks
# and queues put nothing into order that users were not promised (base/sanitizer.h, weft/detail/happens_before.h).
# WEFT_TSAN_RUNTIME: the library is instrumented as well, to look for its own races; those of its users may then go unseen.
set(WEFT_TSAN_USERS OFF)
if(WEFT_SANITIZE MATCHES "thread" AND NOT WEFT_TSAN_RUNTIME)
  set(WEFT_TSAN_USERS ON)
endif()

# A compiler cache makes the several builds of the test command cheap to repeat.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(WEFT_CCACHE ccache)
  if(WEFT_CCACHE)
    foreach(language C CXX ASM)
      set(CMAKE_${language}_COMPILER_LAUNCHER "${WEFT_CCACHE}")
    endforeach()
  endif()
endif()

# Preset tidy: clang-tidy on the library's own sources while they are compiled.
set(WEFT_TIDY_COMMAND "")
if(WEFT_TIDY)
  foreach(version RANGE 24 16 -1)
    list(APPEND weft_tidy_names clang-tidy-${version})
  endforeach()
  find_program(WEFT_CLANG_TIDY NAMES ${weft_tidy_names} clang-tidy REQUIRED)
  set(WEFT_TIDY_COMMAND "${WEFT_CLANG_TIDY};--quiet")
endif()
