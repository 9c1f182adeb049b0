# SPDX-License-Identifier: MIT
# tests/compiler: the same loops compiled with the preemption plugin in many ways, one ctest entry each, and a look at the
# machine code. The plugin's own budget is 0 in them: every loop is checked, however short.

if(NOT WEFT_PREEMPT_LOOPS_OPTIONS)
  message(STATUS "tests of the preemption plugin left out; ${WEFT_PREEMPT_NOTE}")
  return()
endif()

set(weft_compiler_tests "${PROJECT_SOURCE_DIR}/tests/compiler")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(weft_every_loop ${weft_loops_only} -fplugin-arg-weft_preempt-budget=0)
  set(weft_every_loop_and_entry ${weft_loops_and_entries} -fplugin-arg-weft_preempt-budget=0)
  set(weft_with_budget "")
else()
  set(weft_every_loop ${weft_loops_only})
  set(weft_every_loop_and_entry ${weft_loops_and_entries})
  set(weft_with_budget "${CMAKE_COMMAND}" -E env WEFT_PREEMPT_BUDGET=0)
endif()

# weft_compile_loops(OBJECT NAME FLAGS...)
# The loops are compiled with exactly the flags given: those of the build type would decide otherwise. Not cached: not
# every compiler cache knows that a pass plugin is part of what was compiled.
function(weft_compile_loops out name)
  set(object "${PROJECT_BINARY_DIR}/compiler-tests/${name}.o")
  add_custom_command(OUTPUT "${object}"
    COMMAND ${weft_with_budget} "${CMAKE_CXX_COMPILER}" -std=c++20 -Wall -Wextra ${ARGN}
      -c "${weft_compiler_tests}/loops.cc" -o "${object}"
    DEPENDS "${weft_compiler_tests}/loops.cc" "${weft_compiler_tests}/loops.h" "${WEFT_PREEMPT_PLUGIN}"
    COMMENT "Compiling tests/compiler/loops.cc with checks (${name})" VERBATIM)
  set(${out} "${object}" PARENT_SCOPE)
endfunction()

function(weft_compiler_test name)
  set(target test_unit_compiler_${name})
  set(options ${ARGN})
  list(FIND options ENTRY entry)
  list(REMOVE_ITEM options ENTRY)
  set(plugin ${weft_every_loop})
  if(NOT entry EQUAL -1)
    set(plugin ${weft_every_loop_and_entry})
  endif()
  weft_compile_loops(object ${name} ${plugin} ${options})
  # Not linked with the library: the test is what the checks call.
  add_executable(${target} "${weft_compiler_tests}/loops_test.cc" "${object}"
    "${PROJECT_SOURCE_DIR}/src/arch/preempt_check_${WEFT_ARCH}.S" "${PROJECT_SOURCE_DIR}/src/arch/vector_state.cc")
  target_link_libraries(${target} PRIVATE weft_flags weft_warnings GTest::gtest_main)
  list(FILTER options INCLUDE REGEX "^-(flto|fsanitize|fsplit-stack|no-pie)")
  if(options MATCHES "-flto")
    list(APPEND options ${plugin})
  endif()
  target_link_options(${target} PRIVATE ${options})
  add_test(NAME unit.compiler.${name} COMMAND ${target})
  set_property(TEST unit.compiler.${name} APPEND PROPERTY
    ENVIRONMENT "GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/results/unit.compiler.${name}.xml")
  weft_finish_test(unit.compiler.${name} ${target} "unit;qemu" 60)
endfunction()

file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/compiler-tests")
weft_need_gtest()
weft_compiler_test(O0 -O0)
weft_compiler_test(O1 -O1 -g)
weft_compiler_test(O2 -O2)
weft_compiler_test(Os -Os)
weft_compiler_test(O3 -O3 -funroll-loops)
weft_compiler_test(pic -O2 -fPIC -fstack-protector-all)
weft_compiler_test(frames -O2 ${WEFT_USER_OPTIONS})
weft_compiler_test(entry ENTRY -O2)
weft_compiler_test(entry_O0 ENTRY -O0)
if(WEFT_ARCH STREQUAL "x86_64")
  weft_compiler_test(avx2 -O3 -mavx2 -mfma)
  weft_compiler_test(cet -O2 -fcf-protection)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  weft_compiler_test(lto -O2 -flto)
  set(chunk -fplugin-arg-weft_preempt-chunk)
  weft_compiler_test(chunks_O1 -O1 -g ${chunk}=2)
  weft_compiler_test(chunks_O2 -O2 -g ${chunk}=3)
  weft_compiler_test(chunks_O3 -O3 -funroll-loops ${chunk}=2)
endif()

# Every cycle in the machine code goes through a check. Jump tables and block copies would hide cycles or add some.
set(weft_readable -fno-jump-tables)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND weft_readable -fno-reorder-blocks-and-partition)
  if(WEFT_ARCH STREQUAL "x86_64")
    list(APPEND weft_readable -mstringop-strategy=libcall)
  endif()
endif()
find_program(WEFT_OBJDUMP NAMES ${CMAKE_CXX_LIBRARY_ARCHITECTURE}-objdump ${WEFT_ARCH}-linux-gnu-objdump objdump)  # binutils': its format
foreach(level O0 O1 O2 Os O3)
  weft_compile_loops(object coverage_${level} ${weft_every_loop} ${weft_readable} -${level})
  add_custom_target(test_unit_compiler_coverage_${level} ALL DEPENDS "${object}")
  add_test(NAME unit.compiler_coverage.${level} COMMAND "${Python3_EXECUTABLE}" "${weft_compiler_tests}/coverage.py"
    --objdump "${WEFT_OBJDUMP}" "${object}")
  weft_finish_test(unit.compiler_coverage.${level} test_unit_compiler_coverage_${level} "unit;qemu" 60)
endforeach()

# Whole programs, compiled and linked in ways that have lost or ruined checks. Not with sanitizers: those come without -static.
if(WEFT_ARCH STREQUAL "x86_64" AND NOT WEFT_SANITIZE)
  add_custom_target(test_unit_compiler_combinations ALL DEPENDS weft weft_preempt_plugin)
  set(weft_plugin_when_linking "")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(weft_plugin_when_linking --also-when-linking)
  endif()
  string(JOIN " " weft_split_stack_flags ${WEFT_CHECK_OPTIONS})
  string(JOIN " " weft_plugin_flags_in_one ${weft_loops_and_entries})
  add_test(NAME unit.compiler_combinations COMMAND "${Python3_EXECUTABLE}" "${weft_compiler_tests}/combinations.py"
    --cxx "${CMAKE_CXX_COMPILER}" --include "${PROJECT_SOURCE_DIR}/include" --library "$<TARGET_FILE:weft>"
    "--split-stack=${weft_split_stack_flags}" "--plugin=${weft_plugin_flags_in_one}" ${weft_plugin_when_linking})
  weft_finish_test(unit.compiler_combinations test_unit_compiler_combinations "unit" 900)
endif()
