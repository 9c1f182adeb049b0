// SPDX-License-Identifier: MIT
// What this machine offers to weft. It asks the kernel itself, because a version number says little in a container.
// Prints `name  state  consequence` lines; the weft command adds compilers and test tools. Does not depend on the
// library, so that it also works where the library does not.

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace {

// Numbers that Debian 12's headers do not have; these generic ones are the same on x86-64 and aarch64.
constexpr int kMadvGuardInstall = 102;
constexpr long kSysIoUringSetup = 425;
constexpr long kSysPidfdOpen = 434;
constexpr long kSysProcessMadvise = 440;
constexpr int kPidfdSelf = -10000;
constexpr long kSysEpollPwait2 = 441;
constexpr long kSysFutexWaitv = 449;
constexpr int kMembarrierQuery = 0;
constexpr int kMembarrierPrivateExpedited = 1 << 3;
constexpr int kMembarrierRegisterPrivateExpedited = 1 << 4;
constexpr int kMembarrierPrivateExpeditedRseq = 1 << 7;

void heading(const char* text) { std::printf("\n%s\n", text); }

void line(const char* name, const std::string& state, const std::string& consequence = {}) {
  if (consequence.empty()) {
    std::printf("  %-22s %s\n", name, state.c_str());
  } else {
    std::printf("  %-22s %-20s %s\n", name, state.c_str(), consequence.c_str());
  }
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

std::string value_of(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string text;
  while (std::getline(file, text)) {
    if (text.compare(0, key.size(), key) != 0) continue;
    const auto colon = text.find(':');
    if (colon == std::string::npos) continue;
    const auto start = text.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? std::string() : text.substr(start);
  }
  return {};
}

std::string or_dash(std::string text) { return text.empty() ? "unknown" : text; }

std::string why_not(int error) {
  switch (error) {
    case ENOSYS: return "no (not in kernel)";
    case EPERM:
    case EACCES: return "no (not permitted)";
    case EINVAL: return "no (not in kernel)";
    default:     return std::string("no (") + std::strerror(error) + ")";
  }
}

// --- machine ---------------------------------------------------------------------------------------------------------

void show_machine() {
  utsname names{};
  uname(&names);
  heading("machine");
  line("kernel", std::string(names.sysname) + " " + names.release + " " + names.machine);
  std::string model = value_of("/proc/cpuinfo", "model name");
  if (model.empty()) model = value_of("/proc/cpuinfo", "CPU implementer");
  line("cpu", or_dash(model));
  line("cpus online", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
  line("clock source", or_dash(first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource")));
  line("page size", std::to_string(sysconf(_SC_PAGESIZE)));
  line("memory", or_dash(value_of("/proc/meminfo", "MemTotal")));
  const std::string huge = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  line("transparent hugepages", or_dash(huge), huge.empty() ? "" : "goroutine stacks opt out (MADV_NOHUGEPAGE)");
#if defined(AT_MINSIGSTKSZ)
  line("signal frame", std::to_string(getauxval(AT_MINSIGSTKSZ)) + " bytes at least");
#endif
}

// --- limits ----------------------------------------------------------------------------------------------------------

int affinity_count() {
  // cpu_set_t holds 1024; machines with more need a larger mask.
  for (int cpus = 1024; cpus <= 1 << 16; cpus *= 2) {
    cpu_set_t* mask = CPU_ALLOC(static_cast<std::size_t>(cpus));
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const bool known = mask != nullptr && sched_getaffinity(0, size, mask) == 0;
    const int count = known ? CPU_COUNT_S(size, mask) : 0;
    const int error = errno;
    CPU_FREE(mask);
    if (known) return count;
    if (error != EINVAL) break;
  }
  return -1;
}

struct CgroupPaths {
  std::string v2, v1_cpu;  // the group of this process, "" if there is no such hierarchy
};

CgroupPaths cgroup_paths() {
  CgroupPaths paths;
  std::ifstream file("/proc/self/cgroup");
  std::string text;
  while (std::getline(file, text)) {
    const auto first = text.find(':');
    const auto second = text.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + text.substr(first + 1, second - first - 1) + ",";
    if (controllers == ",,") paths.v2 = text.substr(second + 1);
    if (controllers.find(",cpu,") != std::string::npos) paths.v1_cpu = text.substr(second + 1);
  }
  return paths;
}

// The smallest quota of the group and all its ancestors, in CPUs; 0: none.
double smallest_quota(const std::string& mount, std::string group, bool v2) {
  double smallest = 0;
  for (;;) {
    double quota = -1, period = 0;
    const std::string directory = mount + (group == "/" ? "" : group);
    if (v2) {
      std::istringstream text(first_line(directory + "/cpu.max"));
      std::string limit;
      text >> limit >> period;
      if (!limit.empty() && limit != "max") quota = std::strtod(limit.c_str(), nullptr);
    } else {
      quota = std::strtod(first_line(directory + "/cpu.cfs_quota_us").c_str(), nullptr);
      period = std::strtod(first_line(directory + "/cpu.cfs_period_us").c_str(), nullptr);
    }
    if (quota > 0 && period > 0 && (smallest == 0 || quota / period < smallest)) smallest = quota / period;
    if (group.empty() || group == "/") return smallest;
    const auto slash = group.rfind('/');
    group = slash == 0 || slash == std::string::npos ? "/" : group.substr(0, slash);
  }
}

std::string limit_text(rlim_t value) { return value == RLIM_INFINITY ? "unlimited" : std::to_string(value); }

void show_limits() {
  heading("limits");
  const int affinity = affinity_count();
  line("cpu affinity", affinity < 0 ? "unknown" : std::to_string(affinity) + " cpus");

  const CgroupPaths groups = cgroup_paths();
  const bool has_v2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
  const bool has_v1 = access("/sys/fs/cgroup/cpu", F_OK) == 0;
  line("cgroup",
       has_v2   ? "version 2"
       : has_v1 ? "version 1"
                : "none mounted",
       has_v2   ? groups.v2
       : has_v1 ? groups.v1_cpu
                : "maxprocs follows the affinity mask only");
  double quota = has_v2 ? smallest_quota("/sys/fs/cgroup", groups.v2, true) : 0;
  if (has_v1) quota = smallest_quota("/sys/fs/cgroup/cpu", groups.v1_cpu, false);
  char text[64];
  std::snprintf(text, sizeof text, "%.2f cpus", quota);
  line("cgroup cpu quota", quota > 0 ? text : "none");
  if (has_v2) {
    line("cgroup memory.max",
         or_dash(first_line("/sys/fs/cgroup" + (groups.v2 == "/" ? "" : groups.v2) + "/memory.max")));
    line("cgroup pids.max", or_dash(first_line("/sys/fs/cgroup" + (groups.v2 == "/" ? "" : groups.v2) + "/pids.max")));
  }

  int procs = affinity > 0 ? affinity : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  // As in src/os/cpu_topology.h: the quota rounded up, at least 2, never more than the mask.
  if (quota > 0 && quota < procs) procs = std::min(procs, std::max(2, static_cast<int>(std::ceil(quota))));
  line("default maxprocs", std::to_string(procs), "unless WEFT_MAXPROCS says otherwise");

  const std::string maps = first_line("/proc/sys/vm/max_map_count");
  line("vm.max_map_count", or_dash(maps), "matters for stacks only without MADV_GUARD_INSTALL");
  line("vm.overcommit_memory", or_dash(first_line("/proc/sys/vm/overcommit_memory")),
       "2 (strict) charges stacks at full size");
  line("threads-max", or_dash(first_line("/proc/sys/kernel/threads-max")));
  rlimit limit{};
  getrlimit(RLIMIT_NPROC, &limit);
  line("RLIMIT_NPROC", limit_text(limit.rlim_cur));
  getrlimit(RLIMIT_NOFILE, &limit);
  line("RLIMIT_NOFILE", limit_text(limit.rlim_cur) + " of " + limit_text(limit.rlim_max));
  getrlimit(RLIMIT_AS, &limit);
  line("RLIMIT_AS", limit_text(limit.rlim_cur),
       limit.rlim_cur == RLIM_INFINITY ? "" : "below 1 TiB goroutines have stacks of 256 KiB by default");
}

// --- kernel features -------------------------------------------------------------------------------------------------

// Does it guard? Accepting the call is not enough: touching the guard page must end the process.
std::string probe_guard_install() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* area = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED) return why_not(errno);
  if (madvise(area, page, kMadvGuardInstall) != 0) {
    const int error = errno;
    munmap(area, 2 * page);
    return why_not(error);
  }
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(SIGSEGV, SIG_DFL);
    *static_cast<volatile char*>(area) = 1;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  munmap(area, 2 * page);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? "yes" : "no (accepted, but guards nothing)";
}

// Guards in batches: Linux allows the destructive advices on the calling process since 6.13, by PIDFD_SELF since 6.14.
std::string probe_process_madvise() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* area = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct {
    void* base;
    std::size_t length;
  } range{area, page};
  const long done = syscall(kSysProcessMadvise, kPidfdSelf, &range, 1UL, kMadvGuardInstall, 0U);
  const int error = errno;
  munmap(area, page);
  return done >= 0 ? "yes" : error == EBADF ? "no (no PIDFD_SELF)" : why_not(error);
}

std::string probe_epoll_pwait2() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) return why_not(errno);
  epoll_event event{};
  const timespec now{0, 0};
  const long done = syscall(kSysEpollPwait2, fd, &event, 1, &now, nullptr, 0UL);
  const int error = errno;
  close(fd);
  return done >= 0 ? "yes" : why_not(error);
}

std::string probe_eventfd() {
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return why_not(errno);
  close(fd);
  return "yes";
}

std::string probe_io_uring() {
  std::array<std::uint32_t, 30> params{};  // struct io_uring_params is 120 bytes
  const int fd = static_cast<int>(syscall(kSysIoUringSetup, 4, params.data()));
  if (fd < 0) return why_not(errno);
  close(fd);
  return "yes";
}

std::string probe_userfaultfd() {
  constexpr int kUserModeOnly = 1;
  int fd = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
  if (fd >= 0) {
    close(fd);
    return "yes";
  }
  const int error = errno;
  fd = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kUserModeOnly));
  if (fd < 0) return why_not(error);
  close(fd);
  return "user faults only";
}

std::string probe_membarrier() {
  const long commands = syscall(SYS_membarrier, kMembarrierQuery, 0, 0);
  if (commands < 0) return why_not(errno);
  if ((commands & kMembarrierPrivateExpedited) == 0) return "no (not expedited)";
  if (syscall(SYS_membarrier, kMembarrierRegisterPrivateExpedited, 0, 0) != 0) return why_not(errno);
  if (syscall(SYS_membarrier, kMembarrierPrivateExpedited, 0, 0) != 0) return why_not(errno);
  return (commands & kMembarrierPrivateExpeditedRseq) != 0 ? "yes, with rseq" : "yes";
}

std::string probe_perf(bool hardware) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
  attributes.config = hardware ? std::uint64_t{PERF_COUNT_HW_INSTRUCTIONS} : std::uint64_t{PERF_COUNT_SW_TASK_CLOCK};
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const int fd = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) return errno == ENOENT || errno == EOPNOTSUPP ? "no (no counter here)" : why_not(errno);
  close(fd);
  return "yes";
}

std::string probe_futex_waitv() {
  // No waiters: an existing call answers EINVAL, a missing one ENOSYS.
  syscall(kSysFutexWaitv, nullptr, 0U, 0U, nullptr, 0);
  return errno == ENOSYS ? "no (not in kernel)" : errno == EPERM ? "no (not permitted)" : "yes";
}

std::string probe_pidfd() {
  const int fd = static_cast<int>(syscall(kSysPidfdOpen, getpid(), 0));
  if (fd < 0) return why_not(errno);
  close(fd);
  return "yes";
}

// Per-thread CPU sets are what batch pools pin with.
std::string probe_pinning() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return why_not(errno);
  return sched_setaffinity(0, sizeof mask, &mask) == 0 ? "yes" : why_not(errno);
}

std::string probe_time_slice() {
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime_ns, deadline_ns, period_ns;
  } attributes{};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return "refused";
  return attributes.runtime_ns != 0 ? "yes" : "no";
}

#if defined(__x86_64__)
std::string probe_shadow_stack() {
  const std::string features = value_of("/proc/self/status", "x86_Thread_features");
  return features.find("shstk") != std::string::npos ? "on" : "off";
}
#endif

bool starts(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

const char* pick(const std::string& state, const char* present, const char* absent) {
  return starts(state, "yes") ? present : absent;
}

void show_features() {
  heading("kernel features and what weft does with them");
  std::string state = probe_guard_install();
  line("MADV_GUARD_INSTALL", state,
       pick(state, "stack guards without splitting mappings: millions of stacks",
            "fallback: mprotect guards, up to about 30,000 stacks at the default vm.max_map_count"));
  state = probe_process_madvise();
  line("process_madvise", state, pick(state, "guards are installed in batches", "fallback: one call for each guard"));
  state = probe_epoll_pwait2();
  line("epoll_pwait2", state,
       pick(state, "waits for I/O end with the next timer, to the nanosecond",
            "fallback: ppoll on the epoll set, one call more for each wait"));
  state = probe_eventfd();
  line("eventfd", state, pick(state, "wakes the thread that waits for I/O", "fallback: a pipe"));
  state = probe_time_slice();
  line("time slices", state,
       pick(state, "threads ask for 0.5 ms: back from a blocking call, they soon get a CPU that computes for others",
            "the kernel's own (Linux 6.12 and newer grant shorter ones)"));
  state = probe_io_uring();
  line("io_uring", state, "not used: sockets go through epoll, files through blocking calls that give the P away");
  state = probe_userfaultfd();
  line("userfaultfd", state, "not used");
  state = probe_membarrier();
  line("membarrier", state, "not used: the orders are kept by locked operations");
  state = probe_futex_waitv();
  line("futex_waitv", state, "not used: every wait is on one word");
  state = probe_pidfd();
  line("pidfd", state,
       pick(state, "waiting for a child parks the goroutine only", "fallback: a thread waits for each child"));
  state = probe_pinning();
  line("sched_setaffinity", state, pick(state, "threads can be pinned", "fallback: threads float"));
  state = probe_perf(false);
  line("perf (software)", state, "paranoid level " + or_dash(first_line("/proc/sys/kernel/perf_event_paranoid")));
  state = probe_perf(true);
  line("perf (hardware)", state, pick(state, "benchmarks can count instructions", "benchmarks report time only"));
#if defined(__x86_64__)
  state = probe_shadow_stack();
  line("shadow stack (CET)", state,
       state == "on" ? "unsupported: start with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off"
                     : "context switches need no care");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "usage: %s\n", argv[0]);
    return 2;
  }
  show_machine();
  show_limits();
  show_features();
  return 0;
}
