# SPDX-License-Identifier: MIT
# weft::posix: the C library's waiting calls, defined anew for goroutines (src/posix). A program that links it exports them,
# because the C library defines them, too, so that its shared libraries find these first. All objects of the archive are
# linked, for what only a shared library calls as well.
#
# Not for ThreadSanitizer, which has to see these calls itself: there weft::posix is weft::weft.

add_library(weft_posix INTERFACE)
add_library(weft::posix ALIAS weft_posix)
set_target_properties(weft_posix PROPERTIES EXPORT_NAME posix)
target_link_libraries(weft_posix INTERFACE weft)
set(WEFT_POSIX_LIBRARY "")
if(WEFT_OBJECTS AND NOT WEFT_SANITIZE MATCHES "thread")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/posix/*.cc")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  add_library(weft_posix_calls STATIC ${sources})
  add_library(weft::posix_calls ALIAS weft_posix_calls)
  set_target_properties(weft_posix_calls PROPERTIES EXPORT_NAME posix_calls OUTPUT_NAME "weft${WEFT_LIBRARY_SUFFIX}_posix"
    CXX_CLANG_TIDY "${WEFT_TIDY_COMMAND}")
  target_compile_definitions(weft_posix_calls PRIVATE WEFT_PLAIN_ERRNO)
  # Definitions of functions that the C library's headers would replace by checked ones.
  target_compile_options(weft_posix_calls PRIVATE -U_FORTIFY_SOURCE ${WEFT_SANITIZE_OPTIONS})
  target_include_directories(weft_posix_calls PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_compile_features(weft_posix_calls PRIVATE cxx_std_20)
  target_compile_options(weft_posix_calls PRIVATE ${WEFT_USER_OPTIONS} -ftls-model=initial-exec)
  target_compile_definitions(weft_posix_calls PRIVATE WEFT_DEBUG_CHECKS=$<BOOL:${WEFT_DEBUG_CHECKS}>)
  target_link_libraries(weft_posix_calls PRIVATE $<BUILD_INTERFACE:weft_warnings>)
  target_link_libraries(weft_posix_calls INTERFACE weft) # comes after it on the linker's line
  target_link_libraries(weft_posix INTERFACE "$<LINK_LIBRARY:WHOLE_ARCHIVE,weft::posix_calls>" weft ${CMAKE_DL_LIBS})
  add_dependencies(weft weft_posix_calls) # who builds the library alone may still install
  set(WEFT_POSIX_LIBRARY "libweft${WEFT_LIBRARY_SUFFIX}_posix.a")
endif()
