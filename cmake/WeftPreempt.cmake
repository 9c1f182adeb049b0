# SPDX-License-Identifier: MIT
# Preemption checks on loop back-edges: tools/compiler's plugin, built for the compiler in use, and how targets take it.
#
#   target_link_libraries(hog PRIVATE weft::weft weft::preempt_loops)   this target's loops
#   -DWEFT_PREEMPT_LOOPS=ON                                             the loops of everything that links weft::weft
#
# Without plugin support in the compiler both say so while configuring and add nothing: such loops are left to the other
# means of preemption. Defines WEFT_PREEMPT_LOOPS_OPTIONS (flags, empty without) and WEFT_PREEMPT_NOTE (why without), and
# WEFT_TEST_CHECK_OPTIONS: how tests get checks at function entries, be it by the compiler itself or by the plugin.

option(WEFT_PREEMPT_LOOPS "Preemption checks in the loops of everything that links weft" OFF)

set(WEFT_PREEMPT_PLUGIN "${PROJECT_BINARY_DIR}/weft_preempt.so")
set(WEFT_PREEMPT_NOTE "")
set(weft_plugin_command "")
set(weft_plugin_parts "")
string(REGEX MATCH "^[0-9]+" weft_compiler_major "${CMAKE_CXX_COMPILER_VERSION}")

# The plugin runs inside the compiler, here, whatever the compiler compiles for.
set(weft_plugin_host "${CMAKE_CXX_COMPILER}")
if(CMAKE_CROSSCOMPILING)
  find_program(WEFT_HOST_CXX NAMES g++ clang++ c++)
  set(weft_plugin_host "${WEFT_HOST_CXX}")
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=plugin OUTPUT_VARIABLE weft_plugin_headers
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(weft_plugin_source "${PROJECT_SOURCE_DIR}/tools/compiler/gcc_plugin.cc")
  set(weft_plugin_parts "${PROJECT_SOURCE_DIR}/tools/compiler/gcc_counted_loop.h")
  if(EXISTS "${weft_plugin_headers}/include/gcc-plugin.h")
    set(weft_plugin_command "${weft_plugin_host}" -std=gnu++17 -O2 -shared -fPIC -fno-rtti -Wall -DWEFT_TARGET_${WEFT_ARCH}
      -isystem "${weft_plugin_headers}/include" "${weft_plugin_source}" -o "${WEFT_PREEMPT_PLUGIN}")
  else()
    set(weft_plugin_package "gcc-${weft_compiler_major}-plugin-dev")
    if(CMAKE_CROSSCOMPILING)
      string(APPEND weft_plugin_package "-${WEFT_ARCH}-linux-gnu")
    endif()
    set(WEFT_PREEMPT_NOTE "this GCC lacks its plugin headers: apt-get install ${weft_plugin_package}")
  endif()
  set(weft_plugin_flags "-fplugin=")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(weft_plugin_source "${PROJECT_SOURCE_DIR}/tools/compiler/llvm_plugin.cc")
  find_program(WEFT_LLVM_CONFIG_${weft_compiler_major} NAMES llvm-config-${weft_compiler_major} llvm-config)
  set(weft_llvm_config "${WEFT_LLVM_CONFIG_${weft_compiler_major}}")
  set(weft_llvm_version "")
  if(weft_llvm_config)
    execute_process(COMMAND "${weft_llvm_config}" --version OUTPUT_VARIABLE weft_llvm_version OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND "${weft_llvm_config}" --includedir OUTPUT_VARIABLE weft_plugin_headers OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  if(weft_llvm_version MATCHES "^${weft_compiler_major}\\." AND EXISTS "${weft_plugin_headers}/llvm/Passes/PassPlugin.h")
    set(weft_plugin_command "${weft_plugin_host}" -std=c++17 -O2 -shared -fPIC -fno-rtti -Wall
      -isystem "${weft_plugin_headers}" "${weft_plugin_source}" -o "${WEFT_PREEMPT_PLUGIN}")
  else()
    set(WEFT_PREEMPT_NOTE "this clang lacks LLVM's headers: apt-get install llvm-${weft_compiler_major}-dev")
  endif()
  set(weft_plugin_flags "-fpass-plugin=")
else()
  set(WEFT_PREEMPT_NOTE "${CMAKE_CXX_COMPILER_ID} has no plugins that weft knows")
endif()
if(weft_plugin_command AND NOT weft_plugin_host)
  set(weft_plugin_command "")
  set(WEFT_PREEMPT_NOTE "no compiler for this machine found to build the plugin with")
endif()

# Flags are a property of the file that is compiled: nothing here changes the library's own code.
add_library(weft_preempt_loops INTERFACE)
add_library(weft::preempt_loops ALIAS weft_preempt_loops)
set(WEFT_PREEMPT_LOOPS_OPTIONS "")
set(WEFT_TEST_CHECK_OPTIONS "")
if(weft_plugin_command)
  # clang's plugins take no arguments: the same file under a second name checks function entries, too.
  set(weft_plugin_with_entries "${PROJECT_BINARY_DIR}/weft_preempt_entry.so")
  add_custom_command(OUTPUT "${WEFT_PREEMPT_PLUGIN}" COMMAND ${weft_plugin_command}
    COMMAND "${CMAKE_COMMAND}" -E copy "${WEFT_PREEMPT_PLUGIN}" "${weft_plugin_with_entries}"
    DEPENDS "${weft_plugin_source}" ${weft_plugin_parts} COMMENT "Building the compiler plugin for preemption checks" VERBATIM)
  add_custom_target(weft_preempt_plugin DEPENDS "${WEFT_PREEMPT_PLUGIN}")
  add_dependencies(weft_preempt_loops weft_preempt_plugin)
  set(weft_loops_only "${weft_plugin_flags}${WEFT_PREEMPT_PLUGIN}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(weft_loops_and_entries "${weft_loops_only}" -fplugin-arg-weft_preempt-entry)
  else()
    set(weft_loops_and_entries "${weft_plugin_flags}${weft_plugin_with_entries}")
  endif()
  if(WEFT_ARCH STREQUAL "x86_64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(WEFT_PREEMPT_LOOPS_OPTIONS ${weft_loops_only})
  else()  # there is no -fsplit-stack to check entries, or none that is of use
    set(WEFT_PREEMPT_LOOPS_OPTIONS ${weft_loops_and_entries})
  endif()
  target_compile_options(weft_preempt_loops INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${WEFT_PREEMPT_LOOPS_OPTIONS}>")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # with -flto the last passes run while linking
    target_link_options(weft_preempt_loops INTERFACE ${WEFT_PREEMPT_LOOPS_OPTIONS})
  endif()
  set(WEFT_TEST_CHECK_OPTIONS ${weft_loops_and_entries})
elseif(WEFT_PREEMPT_LOOPS)
  message(NOTICE "weft: no preemption checks in loops; ${WEFT_PREEMPT_NOTE}")
endif()
if(WEFT_CHECK_OPTIONS)
  set(WEFT_TEST_CHECK_OPTIONS ${WEFT_CHECK_OPTIONS})
endif()
if(WEFT_PREEMPT_LOOPS)
  target_link_libraries(weft INTERFACE $<BUILD_INTERFACE:weft_preempt_loops>)
endif()
