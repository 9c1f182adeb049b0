# SPDX-License-Identifier: MIT
# Programs behind the weft command. They see public headers and trace/format.h only (checked by tools/lint).

add_executable(weft-doctor "${PROJECT_SOURCE_DIR}/tools/doctor/doctor.cc")
target_compile_features(weft-doctor PRIVATE cxx_std_20)
target_link_libraries(weft-doctor PRIVATE weft_user_warnings)

if(EXISTS "${PROJECT_SOURCE_DIR}/tools/weft/main.cc")
  file(GLOB tool_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/weft/*.cc"
    "${PROJECT_SOURCE_DIR}/tools/trace_reader/*.cc" "${PROJECT_SOURCE_DIR}/tools/viewer/*.cc")
  list(FILTER tool_sources EXCLUDE REGEX "_test\\.cc$")
  add_executable(weft-tools ${tool_sources})
  target_include_directories(weft-tools PRIVATE "${PROJECT_SOURCE_DIR}/tools" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(weft-tools PRIVATE weft weft_user_warnings)
endif()
