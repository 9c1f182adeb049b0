# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# `weft test`: sourced by the weft command, whose functions (say, want, configure, ninja_build ...) it uses.
#
# A stage is a function stage_NAME. It calls `count PASSED FAILED [SKIPPED]` and `failed NAME` for its results, or
# `skip REASON` when the thing it would check is not there. Order: cheap and telling stages first.

all_stages=(lint dev trace batch seam matrix release clang model asan tsan tsan-runtime aarch64 consumers clients command bench)
default_stages=(lint dev trace batch model consumers clients command bench)
quick_stages=(lint dev)

total_passed=0 total_failed=0 total_skipped=0
stage_passed=0 stage_failed=0 stage_skipped=0
failures=()
filter='' long=no thorough=no stage=''

count() {
  stage_passed=$((stage_passed + $1))
  stage_failed=$((stage_failed + $2))
  stage_skipped=$((stage_skipped + ${3:-0}))
}
failed() { failures+=("$stage: $1"); }
skip() {
  say "$stage: skipped, $1"
  count 0 0 1
}
# broken WHAT: the stage could not even be built; counts as one failure.
broken() {
  failed "$1"
  count 0 1
}

# --- what the stages need --------------------------------------------------------------------------------------------

# Packages are wanted only for the stages that run, and the optional ones only if the system offers them.
want_if_known() {
  if ! have apt-cache || apt_has "$1"; then want "$1" "$2"; fi
}

# The plugin headers of the cross compiler. Without them there are no preemption checks on that processor to test.
want_cross_plugin() {
  local major
  have aarch64-linux-gnu-g++ && major=$(aarch64-linux-gnu-g++ -dumpversion) || major=$(g++ -dumpversion 2>/dev/null) || return 0
  major=${major%%.*}
  [[ -f /usr/lib/gcc-cross/aarch64-linux-gnu/$major/plugin/include/gcc-plugin.h ]] ||
    want_if_known "gcc-$major-plugin-dev-aarch64-linux-gnu" "the compiler plugin for preemption checks there"
}

# While packages are installed, none of them may start a service. False: that cannot be seen to.
services_file=/usr/sbin/policy-rc.d services_forbidden=no
forbid_services() {
  ((EUID == 0)) || return 1
  [[ ! -e $services_file ]] || return 0 # somebody has decided that already
  printf '#!/bin/sh\nexit 101\n' >"$services_file" && chmod 755 "$services_file" && services_forbidden=yes
  trap allow_services EXIT
}
allow_services() {
  [[ $services_forbidden == no ]] || rm -f -- "$services_file"
  services_forbidden=no
}

need_test_tools() {
  local name
  # A fresh machine knows no packages until its lists are fetched.
  if have apt-get && ! have_package_lists && [[ ${WEFT_NO_INSTALL:-} != 1 ]] && { ((EUID == 0)) || sudo -n true 2>/dev/null; }; then
    apt_get update || true
  fi
  have python3 || want python3 "lints and program tests"
  if [[ " $* " == *' dev '* ]] && ! have gdb; then want_if_known gdb "goroutines in a debugger"; fi
  if [[ " $* " == *' dev '* ]] && ! have chromium && ! have google-chrome; then want_if_known chromium "the trace page in a browser"; fi
  if [[ " $* " == *' dev '* && ${CI:-} == true ]] && ! have promtool; then want_if_known prometheus "checks the metrics"; fi
  for name; do
    case $name in
      dev | trace | batch | seam | matrix | release | asan) [[ -f /usr/include/gtest/gtest.h ]] || want libgtest-dev "unit tests" ;;
      clang | tsan | tsan-runtime) newest_clang >/dev/null || need_clang test ;;
      model)
        [[ -f /usr/include/relacy/relacy.hpp ]] || want_if_known relacy-dev "model tests of the lock-free parts"
        have spin || want_if_known spin "model checks of the protocols"
        ;;
      aarch64)
        have aarch64-linux-gnu-g++ || want_if_known g++-aarch64-linux-gnu "the aarch64 build"
        have qemu-aarch64 || want_if_known qemu-user "runs the aarch64 tests"
        want_cross_plugin
        ;;
      bench) have valgrind || want_if_known valgrind "counts instructions on hot paths" ;;
      consumers) have pkg-config || want pkg-config "the test of weft.pc" ;;
    esac
  done
  if [[ " $* " =~ \ tsan(-runtime)?\  ]] && name=$(newest_clang) &&
    [[ ! -f $("$name" -print-file-name="libclang_rt.tsan-$(uname -m).a") && ! -f $("$name" -print-file-name=libclang_rt.tsan.a) ]]; then
    want_if_known "libclang-rt-${name#clang++-}-dev" "clang's sanitizer libraries"
  fi
  if [[ " $* " == *' release '* ]]; then
    have valgrind || want_if_known valgrind "memory checks of whole programs"
    have strace || want_if_known strace "system call counts"
  fi
  if [[ " $* " == *' dev '* && ! -f /usr/include/gc/gc_mark.h ]]; then want_if_known libgc-dev "examples/gc"; fi
  if [[ " $* " =~ \ (dev|release|asan)\  ]]; then
    [[ -f /usr/include/sqlite3.h ]] || want_if_known libsqlite3-dev "the test of preemption in other people's libraries"
    [[ -f /usr/include/zlib.h ]] || want_if_known zlib1g-dev "the same"
    [[ -f /usr/include/openssl/ssl.h ]] || want_if_known libssl-dev "the same"
  fi
  # Without this package the tests of the preemption plugin are left out.
  if [[ " $* " == *' dev '* ]] && find_compiler && name=$(plugin_package) && [[ -n $name ]]; then
    want_if_known "$name" "the compiler plugin for preemption checks in loops"
  fi
  # Clients from outside the project; a test says which part it skips without one. nginx and redis-server are used if they
  # are there, but not installed, because their packages start a server.
  if [[ " $* " == *' dev '* && ${WEFT_NO_INSTALL:-} != 1 ]]; then
    have curl || want_if_known curl "a client of the HTTP example"
    have ab || want_if_known apache2-utils "a client of the HTTP example"
    have wrk || want_if_known wrk "a client of the HTTP example"
    have socat || want_if_known socat "a client of the echo and proxy examples"
    have redis-benchmark || want_if_known redis-tools "clients of the key-value example"
  fi
  if [[ " $* " == *' clients '* && ${WEFT_NO_INSTALL:-} != 1 ]] && [[ $thorough == yes || ${CI:-} == true ]]; then
    [[ -f /usr/include/postgresql/libpq-fe.h ]] || want_if_known libpq-dev "PostgreSQL's client library"
    [[ -f /usr/include/hiredis/hiredis.h ]] || want_if_known libhiredis-dev "Redis's client library"
    compgen -G '/usr/include/*curl/curl.h' >/dev/null || compgen -G '/usr/include/*/curl/curl.h' >/dev/null ||
      want_if_known libcurl4-openssl-dev "libcurl"
    [[ -f /usr/include/sqlite3.h ]] || want_if_known libsqlite3-dev "SQLite"
    # The packages of servers would start them.
    if forbid_services; then
      compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || want_if_known postgresql "its server, which is started by the test"
      have redis-server || want_if_known redis-server "the same"
    fi
  fi
  # Two stages may want the same package.
  local i unique=() unique_reasons=()
  for i in "${!wanted[@]}"; do
    [[ " ${unique[*]} " == *" ${wanted[$i]} "* ]] && continue
    unique+=("${wanted[$i]}") unique_reasons+=("${reasons[$i]}")
  done
  wanted=("${unique[@]}") reasons=("${unique_reasons[@]}")
  install_wanted test
  allow_services
}

# --- building and running --------------------------------------------------------------------------------------------

# tests_of DIR LABELS: names of the ctest entries with one of the labels (a regular expression) that the filter keeps.
tests_of() {
  ctest --test-dir "$1" -N -L "$2" -LE "$3" ${filter:+-R "$filter"} 2>/dev/null |
    sed -n 's/^ *Test *#[0-9]*: //p' # some end in " (Disabled)"
}

# The build target behind a ctest entry (cmake/WeftTests.cmake names them).
target_of() {
  case $1 in
    long.program.*) target_of "${1#long.}" ;;
    unit.* | conformance.* | stress.* | long.*) echo "test_${1//./_}" ;;
    example.*.clients) target_of "${1%.clients}" ;;
    program.* | example.* | model.*) echo "${1//./_}" ;;
    tool.*) echo weft-tools ;;
    seam.* | batch.* | matrix.*) target_of "${1#*.}" ;;
    trace.* | trace-quick.*)
      echo weft-tools
      target_of "${1#*.}"
      ;;
    fuzz.*) echo "${1//./_}" ;;
  esac
}

# run_tests PRESET LABELS [--build-all] [-D...]: configures, builds and runs the entries of a preset with these labels.
run_tests() {
  local preset=$1 labels=$2 dir=$build_root/$1 names targets=() name everything=no skipped_labels=lint
  shift 2
  if [[ ${1:-} == --build-all ]]; then
    everything=yes
    shift
  fi
  [[ $long == yes ]] || skipped_labels+='|long'
  say "$stage: configuring"
  if ! configure "$dir" "$preset" -DWEFT_BUILD_TESTS=ON -DWEFT_BUILD_EXAMPLES=ON "$@"; then
    broken "configuration"
    return
  fi
  names=$(tests_of "$dir" "$labels" "^($skipped_labels)\$")
  if [[ $everything == yes && -z $filter ]]; then
    targets=(all)
  else
    for name in $(grep -v ' (Disabled)$' <<<"$names"); do targets+=("$(target_of "$name")"); done
    mapfile -t targets < <(printf '%s\n' "${targets[@]}" | sed '/^$/d' | sort -u)
  fi
  if [[ -z $names && $everything == no ]]; then
    [[ -n $filter ]] || skip "there are no such tests yet"
    return
  fi
  say "$stage: building"
  if ((${#targets[@]})) && ! WEFT_LOG_BUILDS=1 ninja_build "$dir" -k 0 "${targets[@]}"; then
    broken "build (see ${dir/#$PWD\//}/build.log)"
    # The tests that were built still run, because one call then tells more.
  fi
  if [[ -f $dir/build.log ]] && grep -q 'warning:' "$dir/build.log"; then
    grep 'warning:' "$dir/build.log" | sort -u | head -n 20 >&2
    broken "compiler warnings"
  fi
  [[ -n $names ]] || return 0
  say "$stage: running $(wc -l <<<"$names") tests"
  rm -rf -- "$dir/results"
  ctest --test-dir "$dir" -j "$jobs" --output-on-failure -L "$labels" -LE "^($skipped_labels)\$" \
    ${filter:+-R "$filter"} --output-junit "$dir/junit.xml" 2>&1 | shorten_ctest >&2 || true
  local passed failed_count skipped
  read -r passed failed_count skipped < <(python3 "$source_tree/tools/test/count.py" "$dir/junit.xml" "$dir/results" "$dir/failed")
  count "$passed" "$failed_count" "$skipped"
  while read -r name; do failed "$name"; done <"$dir/failed"
}

# Of ctest's output keeps the result lines and, of failed tests, everything but their passing cases. A case that was
# running when the process died keeps its RUN line.
shorten_ctest() {
  awk '
    /^Internal ctest changing|^Test project|^ *Start |^$|^\[==========\]|^\[----------\]|^Running main\(\)/ { next }
    /^Could not find executable/ { missing = 1 }
    missing { if (/^Unable to find executable/) missing = 0; next }
    /tests passed,/ { over = 1 }
    over { next }
    /^\[ RUN      \]/ { running = $0; next }
    /^\[       OK \]/ { running = ""; next }
    running != "" { print running; running = "" }
    { print; fflush() }
    END { if (running != "") print running }'
}

# --- stages ----------------------------------------------------------------------------------------------------------

stage_lint() {
  local passed=0 failed_count=0 skipped=0 name script
  for script in "$source_tree"/tools/lint/check_*.py; do
    name=$(basename -- "$script" .py)
    [[ $name != check_format ]] || continue
    [[ -z $filter || "lint.${name#check_}" =~ $filter ]] || continue
    if ! python3 "$script" --self-test >&2; then
      failed "$name --self-test"
      failed_count=$((failed_count + 1))
    else
      passed=$((passed + 1))
    fi
    if [[ $name == check_requirements && ! -f $source_tree/docs/requirements.md ]]; then
      say "lint: check_requirements skipped, there is no docs/requirements.md yet"
      skipped=$((skipped + 1))
    elif CXX=$cxx python3 "$script" >&2; then
      passed=$((passed + 1))
    else
      failed "$name"
      failed_count=$((failed_count + 1))
    fi
  done
  if [[ -z $filter || lint.run_program =~ $filter ]]; then
    if python3 "$source_tree/tests/support/run_program.py" --self-test; then
      passed=$((passed + 1))
    else
      failed "run_program.py --self-test"
      failed_count=$((failed_count + 1))
    fi
  fi
  count "$passed" "$failed_count" "$skipped"
}

stage_dev() { run_tests dev '^(unit|conformance|stress|program|example|long|matrix-sample)$' --build-all; }
# Conformance and stress tests again, traced: weft's checker and Go's reader judge the traces. Thorough: with 1, 2 and 4
# Ps, and the examples.
stage_trace() { run_tests dev "^trace$([[ $thorough == yes ]] || echo -quick)\$"; }
# The conformance and stress tests under the policy batch. Thorough, or by itself: all of them.
stage_batch() { run_tests dev "^batch$([[ $thorough == yes || -n $only ]] || echo -quick)\$"; }
# The conformance and stress tests with a policy that nobody would use: does the mechanism leave the policy its choices?
stage_seam() { run_tests dev '^seam$'; }
# The same with the matrix policy. The default run has a sample of them in stage dev.
stage_matrix() { run_tests dev '^matrix$'; }
stage_release() { run_tests release '^(conformance|stress|program|example|long)$'; }
# The library, examples and conformance tests without a single warning.
# The other tests meet clang in stages tsan and tsan-runtime.
stage_clang() { run_tests clang '^(conformance|example|fuzz)$'; }
stage_asan() { run_tests asan '^(unit|conformance|stress|program)$'; }
# Code that uses the runtime, as users see it: TSan knows only the orders that the API promises.
stage_tsan() { run_tests tsan '^(conformance|stress|tsan)$'; }
# The runtime itself, instrumented.
stage_tsan-runtime() { run_tests tsan-runtime '^(unit|conformance|stress)$'; }

stage_model() {
  local found=("$source_tree"/tests/model/*_test.cc "$source_tree"/tests/model/*.pml)
  if [[ ! -e ${found[0]} && ! -e ${found[1]:-} && ! -e ${found[-1]} ]]; then
    skip "there is nothing in tests/model yet"
  elif [[ ! -f /usr/include/relacy/relacy.hpp ]] || ! have spin; then
    skip "this system has no relacy-dev or no spin package"
  else
    run_tests model '^(model|spin)$' -DWEFT_BUILD_MODEL=ON -DWEFT_BUILD_TESTS=OFF -DWEFT_BUILD_EXAMPLES=OFF
  fi
}

stage_aarch64() {
  if ! have aarch64-linux-gnu-g++ || ! have qemu-aarch64; then
    skip "this system has no g++-aarch64-linux-gnu or no qemu-user package"
  else
    run_tests aarch64 '^qemu$'
  fi
}

# script_stage SCRIPT: a script that prints `ok NAME` and `not ok NAME` lines.
script_stage() {
  local log=$build_root/$stage.log line
  WEFT_BUILD_DIR=$build_root WEFT_TEST_THOROUGH=${thorough:-no} "$1" ${filter:+"$filter"} 2>&1 | tee "$log" >&2 || true
  while read -r line; do
    case $line in
      'ok '*) count 1 0 ;;
      'skip '*) count 0 0 1 ;;
      'not ok '*)
        count 0 1
        failed "${line#not ok }"
        ;;
    esac
  done < <(grep -E '^(not ok|ok|skip) ' "$log")
  if ((stage_passed + stage_failed + stage_skipped == 0)) && [[ -z $filter ]]; then broken "nothing was run"; fi
}

stage_consumers() { script_stage "$source_tree/tests/consumers/run"; }
# Client libraries of the distribution, in goroutines: those that are installed; with --all or CI=true the others, too.
stage_clients() { script_stage "$source_tree/tests/clients/run"; }
stage_command() { script_stage "$source_tree/tests/command/run"; }

# check_bench NAME COMMAND...: exit status 77 means that something it needs is not there.
check_bench() {
  local name=$1 status=0 log=$build_root/bench-$1.log
  shift
  [[ -z $filter || "bench.$name" =~ $filter ]] || return 0
  "$@" >"$log" 2>&1 || status=$?
  case $status in
    0) count 1 0 ;;
    77) count 0 0 1 && tail -n 1 "$log" ;;
    *)
      cat "$log"
      count 0 1
      failed "bench.$name"
      ;;
  esac
  say "bench: $name $([[ $status == 0 ]] && echo passed || echo "exit status $status")"
}

# The benchmark harness, its page in a browser, and the instruction counts of hot paths: all that needs no clock.
stage_bench() {
  check_bench harness python3 "$source_tree/bench/test_harness"
  check_bench page python3 "$source_tree/bench/test_page"
  check_bench counts python3 "$source_tree/bench/counts/check" --build-dir "$build_root"
}

# --- the run ---------------------------------------------------------------------------------------------------------

duration() {
  if (($1 >= 60)); then printf '%dm%02ds' $(($1 / 60)) $(($1 % 60)); else printf '%ds' "$1"; fi
}

test_main() {
  local stages=("${default_stages[@]}") only='' start stage_start name
  while (($#)); do
    case $1 in
      -h | --help) help_for test && exit 0 ;;
      --quick) stages=("${quick_stages[@]}") ;;
      --all)
        thorough=yes
        stages=("${all_stages[@]}")
        ;;
      --long)
        long=yes thorough=yes
        stages=("${all_stages[@]}")
        ;;
      --only)
        [[ -n ${2:-} ]] || bad_use test "--only needs the names of stages"
        only=$2
        shift
        ;;
      --only=*) only=${1#--only=} ;;
      --list)
        printf '%s\n' "${all_stages[@]}"
        exit 0
        ;;
      -*) bad_use test "unknown flag: $1" ;;
      *)
        [[ -z $filter ]] || bad_use test "one filter only: $filter or $1?"
        filter=$1
        ;;
    esac
    shift
  done
  if [[ -n $only ]]; then
    thorough=yes
    IFS=, read -ra stages <<<"$only"
    for name in "${stages[@]}"; do
      [[ " ${all_stages[*]} " == *" $name "* ]] || bad_use test "no stage '$name' (there are: ${all_stages[*]})"
    done
  fi

  # All missing packages are asked for at once.
  find_compiler || want g++ "the C++ compiler"
  want_build_tools
  need_test_tools "${stages[@]}"
  need_build_tools test
  find_build_root
  exec 2>&1 # here the report is the output: one stream, in order
  start=$SECONDS
  for stage in "${stages[@]}"; do
    stage_start=$SECONDS
    stage_passed=0 stage_failed=0 stage_skipped=0
    printf '== %s\n' "$stage"
    "stage_$stage"
    printf '== %s: %d passed, %d failed%s (%s)\n' "$stage" "$stage_passed" "$stage_failed" \
      "$( ((stage_skipped)) && printf ', %d skipped' "$stage_skipped")" "$(duration $((SECONDS - stage_start)))"
    total_passed=$((total_passed + stage_passed))
    total_failed=$((total_failed + stage_failed))
    total_skipped=$((total_skipped + stage_skipped))
  done

  if ((total_passed + total_failed == 0)); then
    [[ -z $filter ]] || bad_use test "no test matches '$filter'"
  fi
  if ((${#failures[@]})); then
    printf '\nfailed:\n'
    printf '  %s\n' "${failures[@]}"
  fi
  printf '\nin %s\n' "$(duration $((SECONDS - start)))"
  printf '%d passed, %d failed%s\n' "$total_passed" "$total_failed" \
    "$( ((total_skipped)) && printf ', %d skipped' "$total_skipped")"
  ((total_failed == 0 && total_passed > 0))
}
