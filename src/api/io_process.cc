// SPDX-License-Identifier: MIT
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <stdexcept>

#include "api/socket.h"
#include "os/clock.h"
#include "weft/go.h"
#include "weft/io.h"

// Child processes.
//   Waiting   A pidfd becomes readable when the child ends: the goroutine parks. On a system without pidfds: waitpid by
//             hand-off, in small steps if there is a deadline.
//   SIGCHLD   Is not touched: the program may handle it as it likes.
namespace weft::io {
namespace {

using net::error_from;
using net::system_call;

constexpr long kSysPidfdOpen = 434;
constexpr auto kStep = std::chrono::milliseconds(5);

int meaning_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

}  // namespace

std::optional<int> process::wait_until(time_point deadline) {
  if (status_) return status_;
  if (pid_ <= 0) throw std::invalid_argument("weft: process::wait: there is no process");
  const ssize_t handle = system_call([&] { return syscall(kSysPidfdOpen, pid_, 0); });
  if (handle >= 0) {
    const file owner(static_cast<int>(handle));
    if (!wait_readable(static_cast<int>(handle), deadline)) return std::nullopt;
  }
  const bool for_ever = handle < 0 && deadline == time_point::max();
  for (;;) {
    int status = 0;
    const ssize_t pid =
        blocking([&] { return system_call([&] { return waitpid(pid_, &status, for_ever ? 0 : WNOHANG); }); });
    if (pid == -EINTR) continue;
    if (pid < 0) throw std::system_error(error_from(static_cast<int>(-pid)), "weft: process::wait");
    if (pid > 0) return status_ = meaning_of(status);
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    this_goroutine::sleep_for(kStep);
  }
}

int process::wait() { return *wait_until(time_point::max()); }

void process::kill(int signal) {
  if (status_ || pid_ <= 0) return;  // the number may belong to another process by now
  if (::kill(pid_, signal) != 0) throw std::system_error(error_from(errno), "weft: process::kill");
}

process start(const std::vector<std::string>& arguments, const process_options& options) {
  if (arguments.empty()) throw std::invalid_argument("weft: start: no program is named");
  std::vector<char*> raw;
  for (const std::string& each : arguments) raw.push_back(const_cast<char*>(each.c_str()));
  raw.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  // The child starts with no signal blocked, whatever this thread blocks.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int wanted[3] = {options.in, options.out, options.err};
  for (int i = 0; i < 3; ++i) posix_spawn_file_actions_adddup2(&actions, wanted[i], i);
  pid_t pid = -1;
  const int failure = blocking([&] { return posix_spawnp(&pid, raw[0], &actions, &attributes, raw.data(), environ); });
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw std::system_error(error_from(failure), "weft: start " + arguments[0]);
  return process(pid);
}

}  // namespace weft::io
