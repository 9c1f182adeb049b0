# SPDX-License-Identifier: MIT
# The targets that users link, made of the layers' objects (cmake/WeftLayers.cmake):
#
#   weft::weft                libweft.a, or with BUILD_SHARED_LIBS libweft.so
#   weft::preemptible         the same, with preemption checks at function entries of what links it
#   weft::weft_shared, weft::preemptible_shared   checks for a shared library whose program has the runtime
#
# WEFT_STATIC_AND_SHARED makes the other kind of library, too, under the names weft_also*, to be installed beside the first.
#
# libweft.so is made of the archive, so that what is done to the archive's code (GatherText.cmake) is done for both.

set(weft_kind STATIC)
set(weft_other_kind SHARED)
if(BUILD_SHARED_LIBS)
  set(weft_kind SHARED)
  set(weft_other_kind STATIC)
endif()
if(WEFT_SANITIZE AND (BUILD_SHARED_LIBS OR WEFT_STATIC_AND_SHARED))
  message(STATUS "weft: the libraries for sanitizers are static")
  set(weft_kind STATIC)
  set(WEFT_STATIC_AND_SHARED OFF)
endif()
# Before 1.0 a minor version may change the ABI (docs/abi.md).
set(WEFT_ABI_VERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
if(PROJECT_VERSION_MAJOR GREATER 0)
  set(WEFT_ABI_VERSION "${PROJECT_VERSION_MAJOR}")
endif()

# What programs show to shared libraries with checks, so that those find the program's runtime.
set(WEFT_EXPORTED_CHECKS "")
if(WEFT_ARCH STREQUAL "x86_64")
  include(CheckLinkerFlag)
  check_linker_flag(CXX "LINKER:--export-dynamic-symbol=weft_morestack" WEFT_LINKER_EXPORTS)
  if(WEFT_LINKER_EXPORTS)
    foreach(symbol weft_morestack weft_morestack_allocate weft_loop_check)
      list(APPEND WEFT_EXPORTED_CHECKS "-Wl,--export-dynamic-symbol=${symbol}")
    endforeach()
  endif()
endif()

function(weft_add_archive name)
  add_library(${name} STATIC ${WEFT_OBJECTS})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME "weft${WEFT_LIBRARY_SUFFIX}")
  if(WEFT_TSAN_USERS)
    add_custom_command(TARGET ${name} POST_BUILD VERBATIM
      COMMAND "${CMAKE_COMMAND}" -DARCHIVE=$<TARGET_FILE:${name}> "-DNM=${CMAKE_NM}" "-DOBJCOPY=${CMAKE_OBJCOPY}"
              -P "${PROJECT_SOURCE_DIR}/cmake/HideFromTsan.cmake")
  endif()
  if(CMAKE_OBJCOPY AND CMAKE_OBJDUMP)
    add_custom_command(TARGET ${name} POST_BUILD VERBATIM
      COMMAND "${CMAKE_COMMAND}" -DARCHIVE=$<TARGET_FILE:${name}> "-DOBJDUMP=${CMAKE_OBJDUMP}" "-DOBJCOPY=${CMAKE_OBJCOPY}"
              -P "${PROJECT_SOURCE_DIR}/cmake/GatherText.cmake")
  else()
    message(WARNING "weft: no objcopy and objdump found: goroutines in code without preemption checks will keep their P")
  endif()
endfunction()

# weft_add_shared(NAME ARCHIVE). Never unloaded: its threads outlive a dlclose of the library that brought it.
function(weft_add_shared name archive)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/${name}.cc" CONTENT "// libweft.so is made of the archive.\n")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/weft.map.in" "${PROJECT_BINARY_DIR}/weft.map" @ONLY)
  add_library(${name} SHARED "${PROJECT_BINARY_DIR}/${name}.cc")
  set_target_properties(${name} PROPERTIES OUTPUT_NAME weft VERSION "${PROJECT_VERSION}" SOVERSION "${WEFT_ABI_VERSION}"
    LINK_DEPENDS "${PROJECT_BINARY_DIR}/weft.map")
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:$<LINK_LIBRARY:WHOLE_ARCHIVE,${archive}>>)
  target_link_options(${name} PRIVATE "LINKER:--version-script=${PROJECT_BINARY_DIR}/weft.map" LINKER:-Bsymbolic-functions
    LINKER:-z,nodelete LINKER:-z,defs)
endfunction()

# weft_add_kind(PREFIX KIND ARCHIVE): the targets of one kind of library. PREFIX is weft or weft_also.
function(weft_add_kind prefix kind archive)
  set(targets ${prefix} ${prefix}_preemptible)
  if(kind STREQUAL "SHARED")
    weft_add_shared(${prefix} ${archive})
  elseif(NOT TARGET ${prefix})
    add_library(${prefix} ALIAS ${archive})
  endif()
  add_library(${prefix}_preemptible INTERFACE)
  target_link_libraries(${prefix}_preemptible INTERFACE ${prefix})
  if(WEFT_ARCH STREQUAL "x86_64")
    add_library(${prefix}_shared STATIC "${PROJECT_SOURCE_DIR}/tools/compiler/shared_checks_x86_64.S")
    set_target_properties(${prefix}_shared PROPERTIES LINKER_LANGUAGE CXX POSITION_INDEPENDENT_CODE ON
      OUTPUT_NAME "weft${WEFT_LIBRARY_SUFFIX}_shared")
    if(prefix STREQUAL "weft_also")  # the same file once more
      set_target_properties(${prefix}_shared PROPERTIES ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/also")
    endif()
    add_dependencies(${prefix} ${prefix}_shared) # who builds the library alone may still install
    add_library(${prefix}_preemptible_shared INTERFACE)
    target_link_libraries(${prefix}_preemptible_shared INTERFACE ${prefix}_shared)
    foreach(checked ${prefix}_preemptible ${prefix}_preemptible_shared)
      target_compile_options(${checked} INTERFACE ${WEFT_PREEMPTIBLE_OPTIONS})
      target_link_options(${checked} INTERFACE ${WEFT_PREEMPTIBLE_LINK_OPTIONS})
    endforeach()
    list(APPEND targets ${prefix}_shared ${prefix}_preemptible_shared)
    if(kind STREQUAL "SHARED")  # checks reach libweft.so by the same way as from any other module
      target_link_libraries(${prefix} INTERFACE ${prefix}_shared)
    else()
      target_link_options(${prefix} INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${WEFT_EXPORTED_CHECKS}>)
    endif()
  endif()
  if(kind STREQUAL "SHARED")
    # Nor are the libraries that use it unloaded: a goroutine is joined before it has left its last function.
    target_link_options(${prefix} INTERFACE
      $<$<IN_LIST:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY$<SEMICOLON>MODULE_LIBRARY>:LINKER:-z,nodelete>)
  endif()
  target_include_directories(${prefix} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${prefix} PUBLIC cxx_std_20)
  target_compile_options(${prefix} INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:${WEFT_USER_OPTIONS}>)
  target_link_libraries(${prefix} PUBLIC Threads::Threads)
  if(WEFT_SANITIZE_OPTIONS)
    target_compile_options(${prefix} INTERFACE ${WEFT_SANITIZE_OPTIONS})
    target_link_options(${prefix} INTERFACE ${WEFT_SANITIZE_OPTIONS})
  endif()
  foreach(target IN LISTS targets)
    string(REGEX REPLACE "^${prefix}(_|$)" "" exported "${target}")
    if(exported STREQUAL "")
      set(exported weft)
    elseif(exported STREQUAL "shared")
      set(exported weft_shared)
    endif()
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${exported})
    if(prefix STREQUAL "weft")
      add_library(weft::${exported} ALIAS ${target})
    endif()
  endforeach()
  set(WEFT_TARGETS_${kind} ${targets} PARENT_SCOPE)
endfunction()

set(WEFT_TARGETS_STATIC "")
set(WEFT_TARGETS_SHARED "")
set(archive weft)
if(weft_kind STREQUAL "SHARED")
  set(archive weft_archive)
  if(WEFT_STATIC_AND_SHARED)
    set(archive weft_also)
  endif()
endif()
weft_add_archive(${archive})
weft_add_kind(weft ${weft_kind} ${archive})
if(WEFT_STATIC_AND_SHARED)
  weft_add_kind(weft_also ${weft_other_kind} ${archive})
endif()
