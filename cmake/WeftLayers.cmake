# SPDX-License-Identifier: MIT
# The library: one OBJECT target a layer, linked along the layer graph (tools/lint/check_layers.py holds the includes
# to the same graph), and libweft.a or libweft.so made of all of them (cmake/WeftLibrary.cmake). Sources are found by
# directory: adding a file needs no edit here.
#
# Hidden is what public headers do not declare: the sources see those headers by way of others that make what they declare
# visible. Threads' variables stay initial-exec (WeftFlags.cmake), also in libweft.so. Where that is made, the objects are
# position-independent, and the archive's are the same: some paths run 2 % more instructions then.
#
# WEFT_UNITY=ON compiles the files of a layer together: a seventh of the time, for the first `weft run` in a fresh tree.

# A name ending in _x86_64 or _aarch64 is compiled for that processor only.
function(weft_drop_other_architectures list_name)
  set(kept "")
  foreach(source IN LISTS ${list_name})
    if(source MATCHES "_(x86_64|aarch64)\\.(cc|S)$" AND NOT CMAKE_MATCH_1 STREQUAL WEFT_ARCH)
      continue()
    endif()
    list(APPEND kept "${source}")
  endforeach()
  set(${list_name} "${kept}" PARENT_SCOPE)
endfunction()

option(WEFT_STATIC_AND_SHARED "Build and install libweft.a and libweft.so" OFF)
option(WEFT_UNITY "Compile the library's sources together: fast, if all of them have to be compiled" OFF)

set(weft_visible "${PROJECT_BINARY_DIR}/visible-headers")
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/include/weft/*.h")
foreach(header IN LISTS headers)
  file(CONFIGURE OUTPUT "${weft_visible}/${header}" @ONLY CONTENT
"#pragma once
#pragma GCC visibility push(default)
#include \"${PROJECT_SOURCE_DIR}/include/${header}\"
#pragma GCC visibility pop
")
endforeach()

# How much debug information: lines and functions are what reports need. With types of all that each source includes,
# the library would be ten times as large. A debugger finds the types of the runtime's state in one of the sources.
set(weft_lines_only "$<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-g1;-gz>")

set(WEFT_OBJECTS "")

# Which sources are compiled together: what many programs do not use is apart from what all of them link.
function(weft_group_sources)
  set(count 0)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "/src/api/(net_|io_|socket|address_error|memory_pipe)")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP io)
    elseif(source MATCHES "/src/api/(trace|write_profile|leak_profile|labels|debug|sample_signal)")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP insight)
    elseif(source MATCHES "/src/api/(barrier|latch|semaphore|weighted|shared_mutex|recursive|condition|pool|once|watch|broadcast|parallel|task_force)")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP sync)
    elseif(source MATCHES "\\.cc$" AND NOT source MATCHES "/(errno_location|thread_locals|scheduler|dispatch|arrivals|chan_core|select|launch|classic|site)\\.cc$")
      # Those are apart: two return what belongs to the thread, which callers must not keep; one has its own flags, one a name that an overload takes; and hot
      # paths would be inlined otherwise than in other builds (up to 9 % more instructions).
      math(EXPR group "${count} / 25")
      math(EXPR count "${count} + 1")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
endfunction()

# weft_objects(TARGET SOURCE...): what all of the library's objects are compiled with.
function(weft_objects target)
  add_library(${target} OBJECT ${ARGN})
  target_link_libraries(${target} PRIVATE weft_warnings)
  target_compile_definitions(${target} PRIVATE WEFT_PLAIN_ERRNO)
  target_include_directories(${target} BEFORE PRIVATE "${weft_visible}")
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-semantic-interposition> ${weft_lines_only})
  set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "${WEFT_TIDY_COMMAND}" CXX_VISIBILITY_PRESET hidden)
  if(BUILD_SHARED_LIBS OR WEFT_STATIC_AND_SHARED)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  if(WEFT_UNITY)  # some warnings are false there; the other builds have them
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    weft_group_sources(${ARGN})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-w>)
  endif()
  set(WEFT_OBJECTS ${WEFT_OBJECTS} $<TARGET_OBJECTS:${target}> PARENT_SCOPE)
endfunction()

# weft_layer(NAME DEPENDS layers COLD regexes): skipped while src/NAME has no sources, so that a new layer can start empty.
# COLD: sources that run at the start or for a report. Optimised releases compile them for size: a fifth less in each program.
function(weft_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS;COLD")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cc" "${PROJECT_SOURCE_DIR}/src/${name}/*.S")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  weft_drop_other_architectures(sources)
  set(cold "")
  if(arg_COLD)
    list(JOIN arg_COLD "|" cold_regex)
    set(cold ${sources})
    list(FILTER cold INCLUDE REGEX "/src/${name}/(${cold_regex})[^/]*\\.cc$")
    list(FILTER sources EXCLUDE REGEX "/src/${name}/(${cold_regex})[^/]*\\.cc$")
  endif()
  if(sources)
    weft_objects(weft_${name} ${sources})
    set(scope PUBLIC)
  else()
    add_library(weft_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  if(cold)
    weft_objects(weft_${name}_cold ${cold})
    target_link_libraries(weft_${name}_cold PRIVATE weft_${name})
    target_compile_options(weft_${name}_cold PRIVATE $<$<CONFIG:RelWithDebInfo,Release,MinSizeRel>:-Os>)
  endif()
  set(WEFT_OBJECTS ${WEFT_OBJECTS} PARENT_SCOPE)
  target_link_libraries(weft_${name} ${scope} weft_flags)
  if(WEFT_TSAN_USERS)
    target_compile_definitions(weft_${name} ${scope} WEFT_UNWATCHED_BY_TSAN)
  else()
    target_compile_options(weft_${name} ${scope} ${WEFT_SANITIZE_OPTIONS})
  endif()
  foreach(lower IN LISTS arg_DEPENDS)
    target_link_libraries(weft_${name} ${scope} weft_${lower})
  endforeach()
endfunction()

# Debuggers find the types of the runtime's state here.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/sched/state/scheduler.cc" PROPERTIES
  COMPILE_OPTIONS "$<$<CONFIG:RelWithDebInfo>:-g2>")

weft_layer(base)
weft_layer(arch DEPENDS base)
weft_layer(os DEPENDS base arch COLD symbolizer dwarf_ elf_image frame_writer cpu_topology instance)
weft_layer(trace DEPENDS arch os COLD tables collector flight_window finished_generation known_chains)
weft_layer(sched DEPENDS trace COLD observe/ state/goroutine_labels state/label_set)
weft_layer(policy DEPENDS sched)
weft_layer(service DEPENDS sched COLD deadlock crash leaks partial_deadlock)
weft_layer(profile DEPENDS sched COLD .)
weft_layer(api DEPENDS policy service profile COLD wait_facts write_profile leak_profile debug sample_signal testing_explore testing_run testing_schedule)
weft_layer(insight DEPENDS api COLD .)
weft_layer(runtime DEPENDS insight COLD .)
if(WEFT_TSAN_USERS)  # user_stop.cc says why
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/src/sched/frames/user_stop.cc" APPEND PROPERTY COMPILE_OPTIONS ${WEFT_SANITIZE_OPTIONS})
endif()

