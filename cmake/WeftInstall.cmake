# SPDX-License-Identifier: MIT
# What users take home: libweft.a, headers, the CMake package, weft.pc and the weft command.
#
# Builds with a sanitizer may be installed into the same prefix, before or after the plain one: libweft_asan.a, libweft_tsan.a, each
# with its own targets, weft-VARIANT.pc and weft-VARIANT.env. find_package() and the weft command choose by -fsanitize.
#
# The weft command reads weft.env: how to compile against this library. The build tree has one with absolute paths,
# the installed one is relative to the prefix, so that an installation can be moved.

include(WeftShellQuote)
list(JOIN WEFT_USER_OPTIONS " " WEFT_USER_FLAGS)
list(JOIN WEFT_SANITIZE_OPTIONS " " WEFT_SANITIZE_FLAGS)
string(STRIP "${WEFT_USER_FLAGS} ${WEFT_SANITIZE_FLAGS}" WEFT_USER_FLAGS)
list(JOIN WEFT_PREEMPT_LOOPS_OPTIONS " " weft_env_loops)
list(JOIN WEFT_EXPORTED_CHECKS " " weft_env_exports)
function(weft_write_library_env file include library tools)
  set(tls "")
  if(TARGET weft_tls)
    string(REGEX REPLACE "libweft([^/]*)$" "libweft_tls\\1" tls "${library}")
  endif()
  set(posix "")
  if(WEFT_POSIX_LIBRARY)
    cmake_path(GET library PARENT_PATH posix)
    string(APPEND posix "/${WEFT_POSIX_LIBRARY}")
  endif()
  weft_write_env("${file}" weft_version "${PROJECT_VERSION}" weft_compiler "${CMAKE_CXX_COMPILER_ID}"
    weft_flags "${WEFT_USER_FLAGS}" weft_link_flags "${weft_env_exports}" weft_include "${include}" weft_library "${library}"
    weft_posix_library "${posix}" weft_tls_library "${tls}"
    weft_tools "${tools}" weft_preempt_loops "${weft_env_loops}" weft_preempt_note "${WEFT_PREEMPT_NOTE}")
endfunction()
weft_write_library_env("${PROJECT_BINARY_DIR}/weft.env" "${PROJECT_SOURCE_DIR}/include"
  "${PROJECT_BINARY_DIR}/libweft${WEFT_LIBRARY_SUFFIX}.a" "${PROJECT_BINARY_DIR}")

if(NOT WEFT_INSTALL)
  return()
endif()

include(CMakePackageConfigHelpers)
set(weft_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weft")
set(weft_generated "${PROJECT_BINARY_DIR}/install-files")
set(weft_variant "")
if(WEFT_VARIANT)  # the compiler plugin is the plain build's
  set(weft_variant "-${WEFT_VARIANT}")
  set(weft_env_loops "")
  set(WEFT_PREEMPT_NOTE "the libraries for sanitizers come without the plugin")
endif()

set(weft_shared_targets "")
if(TARGET weft_shared)
  set(weft_shared_targets weft_shared weft_preemptible_shared)
endif()
set(weft_posix_targets weft_posix)
if(WEFT_POSIX_LIBRARY)
  list(APPEND weft_posix_targets weft_posix_calls)
endif()
install(TARGETS weft weft_preemptible ${weft_posix_targets} ${weft_shared_targets} EXPORT weft-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION "${weft_package_dir}" FILE "weft${weft_variant}-targets.cmake")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/weft" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")

# The configuration is the same text in every variant; what differs is in weft-VARIANT-build.cmake.
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/weft-config.cmake.in" "${weft_generated}/weft-config.cmake"
  INSTALL_DESTINATION "${weft_package_dir}")
string(REPLACE "${PROJECT_BINARY_DIR}" "WEFT_PLUGIN_DIR" WEFT_PACKAGE_PREEMPT "${WEFT_PREEMPT_LOOPS_OPTIONS}")
if(WEFT_VARIANT)
  set(WEFT_PACKAGE_PREEMPT "")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/weft-build.cmake.in" "${weft_generated}/weft${weft_variant}-build.cmake" @ONLY)
# Before 1.0 a minor version may change anything.
write_basic_package_version_file("${weft_generated}/weft-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${weft_generated}/weft-config.cmake" "${weft_generated}/weft-config-version.cmake"
  "${weft_generated}/weft${weft_variant}-build.cmake" DESTINATION "${weft_package_dir}")

file(RELATIVE_PATH WEFT_PC_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" WEFT_PC_PREFIX "${WEFT_PC_PREFIX}")
set(WEFT_PC_NAME "weft${weft_variant}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/weft.pc.in" "${weft_generated}/${WEFT_PC_NAME}.pc" @ONLY)
install(FILES "${weft_generated}/${WEFT_PC_NAME}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(WEFT_POSIX_LIBRARY)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/weft-posix.pc.in" "${weft_generated}/weft-posix${weft_variant}.pc" @ONLY)
  install(FILES "${weft_generated}/weft-posix${weft_variant}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()

# The command finds share/weft/weft.env beside its own bin/, whatever the other directories are called.
string(REPLACE "${PROJECT_BINARY_DIR}" "WEFT_PREFIX/${CMAKE_INSTALL_LIBDIR}/weft" weft_env_loops "${weft_env_loops}")
weft_write_library_env("${weft_generated}/weft${weft_variant}.env" "WEFT_PREFIX/${CMAKE_INSTALL_INCLUDEDIR}"
  "WEFT_PREFIX/${CMAKE_INSTALL_LIBDIR}/libweft${WEFT_LIBRARY_SUFFIX}.a" "WEFT_PREFIX/libexec/weft")
install(FILES "${weft_generated}/weft${weft_variant}.env" DESTINATION share/weft)
if(WEFT_VARIANT)
  return()
endif()
install(PROGRAMS "${PROJECT_SOURCE_DIR}/weft" DESTINATION bin)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/tools/command" DESTINATION share/weft)
if(WEFT_PREEMPT_LOOPS_OPTIONS)  # optional: built with everything, or by the target weft_preempt_plugin
  install(FILES "${WEFT_PREEMPT_PLUGIN}" "${weft_plugin_with_entries}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/weft" OPTIONAL)
endif()
if(WEFT_BUILD_TOOLS)
  install(TARGETS weft-doctor RUNTIME DESTINATION libexec/weft)
  if(TARGET weft-tools)
    install(TARGETS weft-tools RUNTIME DESTINATION libexec/weft)
  endif()
endif()
