// SPDX-License-Identifier: MIT
// Traces and reports for which there is no room, or nobody to read them: the program goes on (F31).
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/trace.h>
#include <weft/weft.h>

#include <cstdlib>
#include <string>
#include <system_error>

#include "support/cases.h"
#include "support/waiting.h"
#include "support/workload.h"

namespace {

using namespace weft::test;

void work_until(Clock::duration length) {
  const Stopwatch watch;
  do WEFT_EXPECT(mixed_workload());
  while (watch.elapsed() < length);
}

}  // namespace

// check: run WEFT_TRACE=/dev/full --case=full_from_the_start
// check: exit 2
// check: first-stderr fatal error: weft: WEFT_TRACE="/dev/full": cannot be written \(No space left on device\).*
WEFT_CASE(full_from_the_start) {
  weft::run([] {});
  return 0;
}

// check: run --case=reader_that_goes_away
// check: stdout ^went on$
// check: stderr weft: trace: writing failed \(Broken pipe\); the trace ends here
// check: not-stderr (?s)writing failed.*writing failed
// check: within 40
WEFT_CASE(reader_that_goes_away) {
  const std::string path = "/tmp/weft-trace-sink." + std::to_string(getpid());
  WEFT_EXPECT(mkfifo(path.c_str(), 0600) == 0);
  const pid_t reader = fork();
  if (reader == 0) {
    const int in = open(path.c_str(), O_RDONLY);
    char some[16];
    _exit(read(in, some, sizeof some) > 0 ? 0 : 1);  // the header, and no more
  }
  weft::run([&] {
    weft::trace::start(path);
    int status = 0;
    WEFT_EXPECT(weft::blocking([&] { return waitpid(reader, &status, 0); }) == reader && status == 0);
    const Stopwatch watch;
    while (weft::trace::enabled() && watch.elapsed() < 20s) work_until(100ms);
    WEFT_EXPECT(!weft::trace::enabled());
    work_until(100ms);
    try {
      weft::trace::stop();
      WEFT_EXPECT(false);
    } catch (const std::system_error& error) {
      WEFT_EXPECT(error.code() == std::errc::broken_pipe);
    }
    weft::trace::start(path + ".second");  // and there may be another one
    work_until(10ms);
    weft::trace::stop();
  });
  unlink(path.c_str());
  unlink((path + ".second").c_str());
  say("went on");
  return 0;
}

// check: run WEFT_SCHEDTRACE=20 --case=closed_standard_error
// check: stdout ^went on$
WEFT_CASE(closed_standard_error) {
  close(2);
  weft::run([] { work_until(200ms); });
  say("went on");
  return 0;
}
