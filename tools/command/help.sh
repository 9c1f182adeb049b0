# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What `weft help` prints.

help_for() {
  case ${1:-} in
    run) cat <<'END'
usage: weft run [--preempt=off|entry|loops] [--posix] [--tls] [compiler flags] PROGRAM.cpp [arguments]

Compiles PROGRAM.cpp with the right flags against weft, then runs it with the arguments; the exit status is the
program's. An unchanged program is not compiled again. Compiler flags (-O3, -DNAME, -Idir, -Wall, -std=..., -f...,
-m..., -l..., -g) may stand before the file; -fsanitize=address and -fsanitize=thread take a library built the same way.
--preempt, --posix and --tls: see 'weft help build'.

  weft run examples/hello.cpp
  weft run -O3 examples/tour.cpp --goroutines 100000
END
      ;;
    build) cat <<'END'
usage: weft build [--preempt=off|entry|loops] [--posix] [--tls] [compiler flags] SOURCE.cpp [SOURCE.cpp ...] [-o OUTPUT]

Compiles and links the sources with weft. Options that weft does not know are passed on to the compiler (-c and -S
work, too). Without -o the output is named after the first source. Functions are compiled with a check, at which a
goroutine that has computed for long gives way (g++ on x86-64; --preempt=off leaves it out). With --preempt=loops, loops
that call nothing get a check, too; that takes a plugin of the compiler, which weft builds.
With --posix the waiting calls of other libraries (recv, poll, connect, sleep, ...) park the goroutine instead of its thread.
With --tls the program may use <weft/tls.h>; it is linked with the system's OpenSSL (and WEFT_HAS_TLS is 1).
With -shared the output is a library for programs built with weft. It has checks, too, and uses the program's runtime,
because it has none of its own. A program that loads such a library (dlopen) is built with -rdynamic if the library
calls weft.

  weft build -O3 -Wall server.cpp -o server
  weft build --posix client.cpp -lpq -o client
  weft build -shared plugin.cpp -o libplugin.so && weft build main.cpp ./libplugin.so -o main
END
      ;;
    test) cat <<'END'
usage: weft test [--quick | --all | --long] [--only STAGE[,STAGE...]] [--list] [FILTER]

Runs the project's checks in stages: lint, dev (g++, assertions on), trace (dev's conformance and stress tests again,
with tracing: are the traces valid?), batch (some of them under the policy batch; with --only or --all: all of them), seam,
matrix (the same tests with other scheduling policies), release, clang, model (relacy and SPIN), asan (with ubsan), tsan (clang,
races in code that uses weft), tsan-runtime (clang, races in weft itself),
aarch64 (under qemu), consumers (find_package, pkg-config, add_subdirectory), clients
(libpq, hiredis, libcurl and SQLite with weft::posix, as far as they are installed), command (weft itself), bench (the benchmark
harness, and instruction counts). The last line is `N passed, N failed`; the exit status is 0 if nothing failed.

  --quick      lint and dev only
  --all        every stage: also release, clang, the sanitizers and aarch64; traces with 1, 2 and 4 Ps and of the
               examples
  --long       every stage, the tests of tests/long, and the soaks in full (ten minutes of sockets)
  --only A,B   these stages only
  --list       names the stages and stops
  FILTER       a regular expression for test names, such as conformance.chan or run_queue
END
      ;;
    bench) cat <<'END'
usage: weft bench [arguments of bench/run]

Measures the runtime, beside Go where `go` is on the PATH. `weft bench --help` shows what bench/run takes.
END
      ;;
    trace) cat <<'END'
usage: weft trace FILE [--summary | --json | --check] [-o OUTPUT]

Turns an execution trace (WEFT_TRACE=FILE, or one of Go's) into one HTML page that needs no network: FILE.html, or
OUTPUT. A file that was cut short is shown up to there.

  --summary   prints text: utilisation, goroutines by spawn site, what they waited for, the longest waits
  --json      prints the JSON that Perfetto and Chrome's tracing page open
  --check     replays the scheduler and says whether the trace is valid: exit status 0 or 1
  -o OUTPUT   where the result goes (- is stdout)
END
      ;;
    profile) cat <<'END'
usage: weft profile [-o FILE.pb.gz] PROGRAM [arguments]

Runs a program built with weft to its end and writes its CPU profile (default: profile.pb.gz), which `go tool pprof` reads,
and a flame graph beside it (profile.svg). Prints the functions that took most. The exit status is the program's.
The program is a binary: weft build -g prog.cpp && weft profile ./prog
END
      ;;
    top) cat <<'END'
usage: weft top PID|URL [--once]

Shows what the goroutines of a running program do, once a second. The program serves it: start it with
WEFT_DEBUG_ADDR=127.0.0.1:0, or call weft::debug::serve() in it. WEFT_DEBUG_TOKEN is the token, where one is demanded.
END
      ;;
    doctor) cat <<'END'
usage: weft doctor

Shows what this machine offers: kernel, CPU, limits, compilers, test tools, and which kernel features and fallbacks
are in use. Installs nothing but a compiler, and that only if there is none.
END
      ;;
    *) cat <<'END'
usage: weft COMMAND [arguments]

  run PROGRAM.cpp [args]       compile a program with weft and run it
  build [flags] SOURCES -o OUT compile only
  test [--quick|--all|--long]  check the project (source tree only)
  bench                        measure the project (source tree only)
  trace FILE                   an execution trace as a page, a summary or JSON
  profile PROGRAM [args]       run a program, see where its CPU time goes
  top PID|URL                  what a running program's goroutines do
  doctor                       what this machine supports
  help [COMMAND]               more about one of them
  --version

Missing packages are installed as root or with sudo. On a terminal weft asks first; `weft --yes COMMAND` does not.

Environment: CXX (g++ >= 12 or clang++ >= 16), WEFT_BUILD_DIR (default: build/ in the source tree), WEFT_JOBS (parallel
compilers), WEFT_NO_INSTALL=1 (never install packages, say what is missing instead).
END
      ;;
  esac
}
