# SPDX-License-Identifier: MIT
# Debian packages, by cpack -G DEB in a build with WEFT_STATIC_AND_SHARED (packaging/make_debs does all of it):
#   libweft0.1   the shared library; its name changes with the SONAME (docs/abi.md)
#   libweft-dev  headers, archive, CMake package, weft.pc, the compiler's plugin
#   weft         the command, its manual pages and completions
if(NOT (PROJECT_IS_TOP_LEVEL AND WEFT_INSTALL AND WEFT_STATIC_AND_SHARED AND NOT WEFT_VARIANT))
  return()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_CONTACT "the weft maintainers <weft@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES OFF)  # the archive keeps its lines; the library and the tools are stripped by their own rules
set(CPACK_COMPONENTS_ALL library development tools)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME "libweft${WEFT_ABI_VERSION}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "goroutines for C++: the runtime, shared")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libweft-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libweft${WEFT_ABI_VERSION} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "goroutines for C++: headers and libraries to develop with")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME weft)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "bash, libweft-dev (= ${PROJECT_VERSION}), g++ (>= 4:12) | clang-16 | clang-19")
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "goroutines for C++: compile and run programs, read their traces")
include(CPack)
