# SPDX-License-Identifier: MIT
# What users take home: libweft.a, headers, the CMake package, weft.pc and the weft command.
#
# The weft command reads weft.env: how to compile against this library. The build tree has one with absolute paths,
# the installed one is relative to the prefix, so that an installation can be moved.

list(JOIN WEFT_USER_OPTIONS " " WEFT_USER_FLAGS)
list(JOIN WEFT_SANITIZE_OPTIONS " " WEFT_SANITIZE_FLAGS)
string(STRIP "${WEFT_USER_FLAGS} ${WEFT_SANITIZE_FLAGS}" WEFT_USER_FLAGS)
set(WEFT_ENV_INCLUDE "${PROJECT_SOURCE_DIR}/include")
set(WEFT_ENV_LIBRARY "${PROJECT_BINARY_DIR}/libweft.a")
set(WEFT_ENV_TOOLS "${PROJECT_BINARY_DIR}")
list(JOIN WEFT_PREEMPT_LOOPS_OPTIONS " " WEFT_ENV_PREEMPT)
list(JOIN WEFT_EXPORTED_CHECKS " " WEFT_ENV_EXPORTS)
configure_file("${PROJECT_SOURCE_DIR}/cmake/weft.env.in" "${PROJECT_BINARY_DIR}/weft.env" @ONLY)

if(NOT WEFT_INSTALL)
  return()
endif()

include(CMakePackageConfigHelpers)
set(weft_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weft")
set(weft_generated "${PROJECT_BINARY_DIR}/install-files")

set(weft_shared_targets "")
if(TARGET weft_shared)
  set(weft_shared_targets weft_shared weft_preemptible_shared)
endif()
install(TARGETS weft weft_preemptible ${weft_shared_targets} EXPORT weft-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION "${weft_package_dir}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/weft" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")

string(REPLACE "${PROJECT_BINARY_DIR}" "WEFT_PLUGIN_DIR" WEFT_PACKAGE_PREEMPT "${WEFT_PREEMPT_LOOPS_OPTIONS}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/weft-config.cmake.in" "${weft_generated}/weft-config.cmake"
  INSTALL_DESTINATION "${weft_package_dir}")
# Before 1.0 a minor version may change anything.
write_basic_package_version_file("${weft_generated}/weft-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${weft_generated}/weft-config.cmake" "${weft_generated}/weft-config-version.cmake"
  DESTINATION "${weft_package_dir}")

file(RELATIVE_PATH WEFT_PC_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" WEFT_PC_PREFIX "${WEFT_PC_PREFIX}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/weft.pc.in" "${weft_generated}/weft.pc" @ONLY)
install(FILES "${weft_generated}/weft.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# The command finds share/weft/weft.env beside its own bin/, whatever the other directories are called.
set(WEFT_ENV_INCLUDE "$weft_prefix/${CMAKE_INSTALL_INCLUDEDIR}")
set(WEFT_ENV_LIBRARY "$weft_prefix/${CMAKE_INSTALL_LIBDIR}/libweft.a")
set(WEFT_ENV_TOOLS "$weft_prefix/libexec/weft")
string(REPLACE "${PROJECT_BINARY_DIR}" "$weft_prefix/${CMAKE_INSTALL_LIBDIR}/weft" WEFT_ENV_PREEMPT "${WEFT_ENV_PREEMPT}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/weft.env.in" "${weft_generated}/weft.env" @ONLY)
install(FILES "${weft_generated}/weft.env" DESTINATION share/weft)
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
