# SPDX-License-Identifier: MIT
# weft::tls: <weft/tls.h>, over the system's OpenSSL 3. Without its headers the component is left out, and says so.
# Installed, it is found by find_package(weft) where CMake finds OpenSSL, and by pkg-config as weft-tls.

option(WEFT_TLS "Build weft::tls where OpenSSL 3 is installed" ON)
if(NOT WEFT_TLS OR NOT TARGET weft OR NOT WEFT_OBJECTS)
  return()
endif()
find_package(OpenSSL 3.0 QUIET)
if(NOT OPENSSL_FOUND)
  message(STATUS "weft::tls is left out: there is no OpenSSL 3 with headers here (apt-get install libssl-dev)")
  return()
endif()

file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/tls/*.cc")
add_library(weft_tls STATIC ${sources})
add_library(weft::tls ALIAS weft_tls)
if(NOT PROJECT_IS_TOP_LEVEL)
  set_target_properties(weft_tls PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
set_target_properties(weft_tls PROPERTIES EXPORT_NAME tls POSITION_INDEPENDENT_CODE ON OUTPUT_NAME "weft_tls${WEFT_LIBRARY_SUFFIX}")
target_include_directories(weft_tls PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_compile_definitions(weft_tls INTERFACE WEFT_HAS_TLS=1)
target_link_libraries(weft_tls PUBLIC weft OpenSSL::SSL OpenSSL::Crypto PRIVATE $<BUILD_INTERFACE:weft_warnings>)

if(WEFT_INSTALL)
  set(weft_tls_variant "")
  if(WEFT_VARIANT)
    set(weft_tls_variant "-${WEFT_VARIANT}")
  endif()
  install(TARGETS weft_tls EXPORT weft-tls-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development OPTIONAL)
  install(EXPORT weft-tls-targets NAMESPACE weft:: DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/weft"
    FILE "weft${weft_tls_variant}-tls-targets.cmake" COMPONENT development)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/install-files/weft${weft_tls_variant}-tls.pc" @ONLY CONTENT
"Name: weft${weft_tls_variant}-tls
Description: TLS for weft
Version: @PROJECT_VERSION@
Requires: weft@weft_tls_variant@
Requires.private: openssl >= 3
Cflags: -DWEFT_HAS_TLS=1
Libs: -lweft_tls@WEFT_LIBRARY_SUFFIX@ -lweft@WEFT_LIBRARY_SUFFIX@ -lssl -lcrypto
")
  install(FILES "${PROJECT_BINARY_DIR}/install-files/weft${weft_tls_variant}-tls.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
endif()
