# SPDX-License-Identifier: MIT
# bench/micro/*.cc: Google Benchmark programs on public and private headers. The workloads (the same program in weft, Go,
# plain threads and others) are built by bench/run, the weft ones with `weft build`, as users' programs are.

file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/micro/*.cc")
add_custom_target(bench)
if(sources)
  find_package(benchmark QUIET)
  if(NOT benchmark_FOUND)
    message(FATAL_ERROR "bench/micro needs Google Benchmark: apt-get install libbenchmark-dev")
  endif()
endif()
foreach(source IN LISTS sources)
  cmake_path(GET source STEM stem)
  add_executable(bench_${stem} "${source}")
  target_include_directories(bench_${stem} PRIVATE "${PROJECT_SOURCE_DIR}/bench")
  target_link_libraries(bench_${stem} PRIVATE weft weft_flags weft_warnings benchmark::benchmark_main)
  add_dependencies(bench bench_${stem})
endforeach()
