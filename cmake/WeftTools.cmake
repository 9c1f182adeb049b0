# SPDX-License-Identifier: MIT
# Programs behind the weft command. They see public headers and trace/format.h only (checked by tools/lint).

add_executable(weft-doctor "${PROJECT_SOURCE_DIR}/tools/doctor/doctor.cc")
target_compile_features(weft-doctor PRIVATE cxx_std_20)
target_link_libraries(weft-doctor PRIVATE weft_user_warnings)

# `weft trace`: reader and outputs are a library of their own, for the tests; they do not need the runtime. The page's files are
# compiled in, so that the program is one file.
set(weft_page_dir "${PROJECT_SOURCE_DIR}/tools/viewer/page")
set(weft_assets "${PROJECT_BINARY_DIR}/trace_page_assets.cc")
file(GLOB page_files CONFIGURE_DEPENDS "${weft_page_dir}/*")
add_custom_command(OUTPUT "${weft_assets}"
  COMMAND "${CMAKE_COMMAND}" -DPAGE=${weft_page_dir} -DOUTPUT=${weft_assets} -P "${PROJECT_SOURCE_DIR}/cmake/embed_assets.cmake"
  DEPENDS ${page_files} "${PROJECT_SOURCE_DIR}/cmake/embed_assets.cmake" VERBATIM)
file(GLOB tool_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/tools/trace_reader/*.cc" "${PROJECT_SOURCE_DIR}/tools/viewer/*.cc")
list(FILTER tool_sources EXCLUDE REGEX "_(test|fuzz)\\.cc$")
add_library(weft_trace_tools STATIC ${tool_sources} "${weft_assets}")
target_compile_features(weft_trace_tools PUBLIC cxx_std_20)
target_include_directories(weft_trace_tools PUBLIC "${PROJECT_SOURCE_DIR}/tools" "${PROJECT_SOURCE_DIR}/src")
target_compile_options(weft_trace_tools PUBLIC ${WEFT_SANITIZE_OPTIONS})
target_link_options(weft_trace_tools PUBLIC ${WEFT_SANITIZE_OPTIONS})
target_link_libraries(weft_trace_tools PRIVATE weft_user_warnings)

add_executable(weft-tools "${PROJECT_SOURCE_DIR}/tools/weft/main.cc")
target_link_libraries(weft-tools PRIVATE weft_trace_tools weft_user_warnings)
