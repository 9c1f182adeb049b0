# SPDX-License-Identifier: MIT
# What users take home: libweft.a or libweft.so or both, headers, the CMake package, weft.pc and the weft command.
#
# Each kind of library has its own targets, in weft-targets.cmake and weft-shared-targets.cmake, so that they can be installed side
# by side, also from two builds; find_package() chooses by BUILD_SHARED_LIBS.
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
  "${PROJECT_BINARY_DIR}/libweft${WEFT_LIBRARY_SUFFIX}.a" "${PROJECT_BINARY_DIR}")  # shared builds have it, too

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

# In packages: libraries of their own, what one develops with, and the command.
# weft::posix belongs to the archive, whose inner functions it calls.
if(WEFT_TARGETS_STATIC)
  set(weft_posix_targets "")
  if(TARGET weft_posix)
    set(weft_posix_targets weft_posix)
  endif()
  if(WEFT_POSIX_LIBRARY)
    list(APPEND weft_posix_targets weft_posix_calls)
  endif()
  install(TARGETS ${WEFT_TARGETS_STATIC} ${weft_posix_targets} EXPORT weft-targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
  install(EXPORT weft-targets NAMESPACE weft:: DESTINATION "${weft_package_dir}" FILE "weft${weft_variant}-targets.cmake"
    COMPONENT development)
endif()
if(WEFT_TARGETS_SHARED)
  install(TARGETS ${WEFT_TARGETS_SHARED} EXPORT weft-shared-targets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT development
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
  install(EXPORT weft-shared-targets NAMESPACE weft:: DESTINATION "${weft_package_dir}" FILE "weft-shared-targets.cmake"
    COMPONENT development)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/weft" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
  FILES_MATCHING PATTERN "*.h")

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
  "${weft_generated}/weft${weft_variant}-build.cmake" DESTINATION "${weft_package_dir}" COMPONENT development)

file(RELATIVE_PATH WEFT_PC_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" WEFT_PC_PREFIX "${WEFT_PC_PREFIX}")
set(WEFT_PC_NAME "weft${weft_variant}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/weft.pc.in" "${weft_generated}/${WEFT_PC_NAME}.pc" @ONLY)
install(FILES "${weft_generated}/${WEFT_PC_NAME}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
if(WEFT_POSIX_LIBRARY)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/weft-posix.pc.in" "${weft_generated}/weft-posix${weft_variant}.pc" @ONLY)
  install(FILES "${weft_generated}/weft-posix${weft_variant}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
endif()

# The command links programs with the archive where there is one. It finds share/weft/weft.env beside its own bin/, whatever the
# other directories are called.
string(REPLACE "${PROJECT_BINARY_DIR}" "WEFT_PREFIX/${CMAKE_INSTALL_LIBDIR}/weft" weft_env_loops "${weft_env_loops}")
set(weft_linked "libweft${WEFT_LIBRARY_SUFFIX}.a")
if(NOT WEFT_TARGETS_STATIC)
  set(weft_linked "libweft.so")
endif()
weft_write_library_env("${weft_generated}/weft${weft_variant}.env" "WEFT_PREFIX/${CMAKE_INSTALL_INCLUDEDIR}"
  "WEFT_PREFIX/${CMAKE_INSTALL_LIBDIR}/${weft_linked}" "WEFT_PREFIX/libexec/weft")
install(FILES "${weft_generated}/weft${weft_variant}.env" DESTINATION share/weft COMPONENT tools)
if(WEFT_VARIANT)
  return()
endif()
install(PROGRAMS "${PROJECT_SOURCE_DIR}/weft" DESTINATION bin COMPONENT tools)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/tools/command" DESTINATION share/weft COMPONENT tools)
install(FILES "${PROJECT_SOURCE_DIR}/tools/debugger/weft-gdb.py" DESTINATION share/weft COMPONENT tools)
# Manual pages and completions come from the command's help, when this is configured.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/command/help.sh"
  "${PROJECT_SOURCE_DIR}/tools/command/pages.sh")
execute_process(COMMAND bash "${PROJECT_SOURCE_DIR}/tools/command/pages.sh" "${PROJECT_VERSION}" "${weft_generated}"
  COMMAND_ERROR_IS_FATAL ANY)
install(DIRECTORY "${weft_generated}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools)
install(FILES "${weft_generated}/completion/weft" DESTINATION share/bash-completion/completions COMPONENT tools)
install(FILES "${weft_generated}/completion/_weft" DESTINATION share/zsh/site-functions COMPONENT tools)
if(WEFT_PREEMPT_LOOPS_OPTIONS)  # optional: built with everything, or by the target weft_preempt_plugin
  install(FILES "${WEFT_PREEMPT_PLUGIN}" "${weft_plugin_with_entries}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/weft"
    COMPONENT development OPTIONAL)
endif()
if(WEFT_BUILD_TOOLS)
  install(TARGETS weft-doctor RUNTIME DESTINATION libexec/weft COMPONENT tools)
  if(TARGET weft-tools)
    install(TARGETS weft-tools RUNTIME DESTINATION libexec/weft COMPONENT tools)
  endif()
endif()
