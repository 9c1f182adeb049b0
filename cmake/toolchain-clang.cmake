# SPDX-License-Identifier: MIT
# The newest clang >= 16 there is. Debian 12's unversioned clang++ is 14, so it comes last.
foreach(version RANGE 24 16 -1)
  list(APPEND weft_clang_names clang++-${version})
endforeach()
find_program(WEFT_CLANGXX NAMES ${weft_clang_names} clang++)
if(NOT WEFT_CLANGXX)
  message(FATAL_ERROR "no clang++ >= 16 found: apt-get install clang-19 libclang-rt-19-dev (or a newer one)")
endif()
string(REPLACE "clang++" "clang" WEFT_CLANG "${WEFT_CLANGXX}")
set(CMAKE_C_COMPILER "${WEFT_CLANG}")
set(CMAKE_CXX_COMPILER "${WEFT_CLANGXX}")
