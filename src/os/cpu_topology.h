// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

// How many CPUs this process may use: its affinity mask and its cgroup's CPU bandwidth limit.
// Nothing here throws except std::bad_alloc; whatever cannot be read or understood counts as "no limit".
namespace weft::os {

inline constexpr int kMaxDefaultProcs = 1024;

// CPUs in the affinity mask of thread `tid` (0: the calling thread), ascending and never empty. A thread that
// pins itself sees only its own mask: code that follows the process's mask live passes getpid(), which names
// the main thread.
std::vector<int> allowed_cpu_list(int tid = 0);

// allowed_cpu_list(tid).size(): at least 1.
int allowed_cpus(int tid = 0);

// CPUs' worth of time granted by cgroup v1 (cpu.cfs_quota_us / cpu.cfs_period_us) or v2 (cpu.max): the
// minimum over this process's group and all its ancestors that the mounts show. nullopt: no limit, or none
// can be found. `root` is put before every path that is opened, so that tests can point it at a tree of their
// own.
std::optional<double> cgroup_cpu_quota(const std::string& root = "");

// The default number of Ps from the two inputs: the quota rounded up, at least 2 (with one P, a quota of 1.1
// or a bursty 0.5 would serialise the program), never more than the allowed CPUs, always
// in 1..kMaxDefaultProcs.
int maxprocs_for(int allowed, std::optional<double> quota) noexcept;

// maxprocs_for(allowed_cpus(tid), cgroup_cpu_quota(root)).
int default_maxprocs(const std::string& root = "", int tid = 0);

// Contract of sched_getaffinity(): 0 on success; -1 with errno = EINVAL when the mask needs more than
// `bytes`.
using AffinityReader = int (*)(int tid, std::size_t bytes, void* mask);

// allowed_cpu_list() with the system call replaced: for tests of machines larger than this one.
std::vector<int> cpu_list_from(AffinityReader read_mask, int tid);

}  // namespace weft::os
