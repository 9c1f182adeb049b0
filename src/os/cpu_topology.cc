// SPDX-License-Identifier: MIT
#include "os/cpu_topology.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace weft::os {
namespace {

constexpr std::size_t kMaxProcFile = std::size_t{16} << 20;  // mountinfo of a machine with 100,000 mounts
constexpr std::size_t kMaxValueFile = 256;                   // "max 100000": anything longer is not a limit

// The whole file, or nullopt if it cannot be read or is larger than `limit`.
std::optional<std::string> read_file(const std::string& path, std::size_t limit) {
  int fd = -1;
  do {
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return std::nullopt;
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{fd};
  std::string text;
  std::size_t used = 0;
  for (;;) {
    // One byte more than allowed, so that "too long" shows.
    text.resize(std::min(limit + 1, std::max<std::size_t>(used * 2, 4096)));
    const ssize_t got = read(fd, text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    used += static_cast<std::size_t>(got);
    if (used > limit) return std::nullopt;
    if (got == 0) break;
  }
  text.resize(used);
  return text;
}

// Cuts the text up to the next separator (or the end) off the front of `rest`.
std::string_view cut(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

bool list_contains(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    if (cut(list, ',') == item) return true;
  }
  return false;
}

// mountinfo writes space, tab, newline, '#' and backslash as three octal digits.
std::string unescape(std::string_view text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] <= '3' && is_octal(text[i + 1]) &&
        is_octal(text[i + 2]) && is_octal(text[i + 3])) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// A group's path as the kernel prints it for a reader in a cgroup namespace: so many levels above the
// namespace's root, then down by names.
struct GroupPath {
  std::size_t ups = 0;
  std::vector<std::string_view> names;
};

GroupPath split_path(std::string_view path) {
  GroupPath result;
  while (!path.empty()) {
    const std::string_view part = cut(path, '/');
    if (part.empty()) continue;
    if (part == ".." && result.names.empty()) {
      ++result.ups;
    } else {
      result.names.push_back(part);
    }
  }
  return result;
}

enum class Hierarchy { kV1, kV2 };

struct Membership {
  std::optional<std::string> v1;  // path in the hierarchy that has the cpu controller
  std::optional<std::string> v2;
};

Membership read_membership(std::string_view text) {
  Membership result;
  while (!text.empty()) {
    std::string_view path = cut(text, '\n');
    const std::string_view id = cut(path, ':');
    const std::string_view controllers = cut(path, ':');
    if (path.empty() || path.front() != '/') continue;
    if (id == "0" && controllers.empty()) {
      result.v2 = std::string(path);
    } else if (list_contains(controllers, "cpu")) {
      result.v1 = std::string(path);
    }
  }
  return result;
}

struct Mount {
  Hierarchy hierarchy;
  std::string root;  // the group that is visible at `point`
  std::string point;
};

// One line: id parent major:minor root point options [optional fields...] - type source super-options
std::optional<Mount> parse_mount(std::string_view line) {
  for (int i = 0; i < 3; ++i) cut(line, ' ');
  const std::string_view root = cut(line, ' ');
  const std::string_view point = cut(line, ' ');
  while (!line.empty() && cut(line, ' ') != "-") {
  }
  const std::string_view type = cut(line, ' ');
  cut(line, ' ');
  if (root.empty() || point.empty()) return std::nullopt;
  if (type == "cgroup2") return Mount{Hierarchy::kV2, unescape(root), unescape(point)};
  if (type == "cgroup" && list_contains(cut(line, ' '), "cpu"))
    return Mount{Hierarchy::kV1, unescape(root), unescape(point)};
  return std::nullopt;
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

std::optional<double> ratio(std::optional<std::int64_t> quota, std::optional<std::int64_t> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

// The limit of the one group whose directory is given.
std::optional<double> group_quota(Hierarchy hierarchy, const std::string& directory) {
  if (hierarchy == Hierarchy::kV2) {
    const auto text = read_file(directory + "/cpu.max", kMaxValueFile);
    if (!text) return std::nullopt;
    std::string_view rest = trim(*text);
    const std::string_view quota = cut(rest, ' ');
    return ratio(parse_number(quota), parse_number(rest));
  }
  const auto quota = read_file(directory + "/cpu.cfs_quota_us", kMaxValueFile);
  if (!quota) return std::nullopt;
  const auto period = read_file(directory + "/cpu.cfs_period_us", kMaxValueFile);
  if (!period) return std::nullopt;
  return ratio(parse_number(trim(*quota)), parse_number(trim(*period)));
}

void take_minimum(std::optional<double>& best, std::optional<double> candidate) {
  if (candidate && (!best || *candidate < *best)) best = candidate;
}

// The limits of `group` and its ancestors as far as this mount shows them.
std::optional<double> quota_through_mount(const Mount& mount, std::string_view group,
                                          const std::string& root) {
  const GroupPath top = split_path(mount.root);
  GroupPath own = split_path(group);
  if (top.ups > own.ups) {
    // The mount shows a group above our namespace. With nothing but ".." it is an ancestor of ours, although
    // the names in between are hidden; with names after it, it is a branch that we are not on.
    if (!top.names.empty()) return std::nullopt;
    own.names.clear();
  } else if (top.ups < own.ups || top.names.size() > own.names.size() ||
             !std::equal(top.names.begin(), top.names.end(), own.names.begin())) {
    return std::nullopt;  // the mount does not show our group
  } else {
    own.names.erase(own.names.begin(), own.names.begin() + static_cast<std::ptrdiff_t>(top.names.size()));
  }
  std::string directory = root + mount.point;
  std::optional<double> best = group_quota(mount.hierarchy, directory);
  for (const std::string_view name : own.names) {
    directory += '/';
    directory += name;
    take_minimum(best, group_quota(mount.hierarchy, directory));
  }
  return best;
}

int read_affinity(int tid, std::size_t bytes, void* mask) {
  return sched_getaffinity(tid, bytes, static_cast<cpu_set_t*>(mask));
}

}  // namespace

std::vector<int> cpu_list_from(AffinityReader read_mask, int tid) {
  // The kernel wants room for every CPU it was built for (up to 8192 today), not only for those that exist.
  constexpr std::size_t kMaxWords = std::size_t{1} << 14;  // a million CPUs
  std::vector<int> cpus;
  for (std::size_t words = 1024 / 64; words <= kMaxWords; words *= 2) {
    std::vector<std::uint64_t> mask(
        words);  // same bits in the same order as cpu_set_t on little-endian machines
    if (read_mask(tid, words * sizeof(std::uint64_t), mask.data()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    for (std::size_t cpu = 0; cpu < words * 64; ++cpu) {
      if ((mask[cpu / 64] >> (cpu % 64)) & 1) cpus.push_back(static_cast<int>(cpu));
    }
    break;
  }
  if (cpus.empty()) {
    // No mask to be had (a filter on system calls, or an emulator): all CPUs that are online.
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    for (int cpu = 0; cpu < static_cast<int>(std::clamp(online, 1l, long{kMaxDefaultProcs})); ++cpu)
      cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> allowed_cpu_list(int tid) { return cpu_list_from(read_affinity, tid); }

int allowed_cpus(int tid) { return static_cast<int>(allowed_cpu_list(tid).size()); }

std::optional<double> cgroup_cpu_quota(const std::string& root) {
  const auto groups = read_file(root + "/proc/self/cgroup", kMaxProcFile);
  if (!groups) return std::nullopt;
  const auto mounts = read_file(root + "/proc/self/mountinfo", kMaxProcFile);
  if (!mounts) return std::nullopt;
  const Membership membership = read_membership(*groups);
  std::optional<double> best;
  std::string_view rest = *mounts;
  while (!rest.empty()) {
    const auto mount = parse_mount(cut(rest, '\n'));
    if (!mount) continue;
    const auto& group = mount->hierarchy == Hierarchy::kV1 ? membership.v1 : membership.v2;
    if (group) take_minimum(best, quota_through_mount(*mount, *group, root));
  }
  return best;
}

int maxprocs_for(int allowed, std::optional<double> quota) noexcept {
  int procs = std::clamp(allowed, 1, kMaxDefaultProcs);
  if (quota && std::isfinite(*quota) && *quota > 0) {
    const double wanted = std::max(2.0, std::ceil(*quota));
    if (wanted < procs) procs = static_cast<int>(wanted);
  }
  return procs;
}

int default_maxprocs(const std::string& root, int tid) {
  return maxprocs_for(allowed_cpus(tid), cgroup_cpu_quota(root));
}

}  // namespace weft::os
