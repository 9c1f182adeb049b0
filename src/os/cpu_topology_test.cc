// SPDX-License-Identifier: MIT
#include "os/cpu_topology.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <thread>

namespace weft::os {
namespace {

// A directory that stands for "/": files are written with the paths the process would see.
class FakeRoot {
 public:
  FakeRoot() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-cgroup-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    out << text;
    ASSERT_TRUE(out.good()) << file;
  }
  void v2(const std::string& directory, const std::string& text) const {
    write(directory + "/cpu.max", text);
  }
  void v1(const std::string& directory, const std::string& quota, const std::string& period) const {
    write(directory + "/cpu.cfs_quota_us", quota);
    write(directory + "/cpu.cfs_period_us", period);
  }
  std::optional<double> quota() const { return cgroup_cpu_quota(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const char kV2Mount[] =
    "22 27 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
    "29 22 0:26 / /sys/fs/cgroup rw,nosuid,nodev shared:4 - cgroup2 cgroup2 "
    "rw,nsdelegate,memory_recursiveprot\n";
const char kV1Mount[] =
    "30 22 0:27 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
    "31 30 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "32 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 master:3 - cgroup cgroup rw,cpu,cpuacct\n";

struct V2Root : FakeRoot {
  explicit V2Root(const std::string& group = "/") {
    write("/proc/self/mountinfo", kV2Mount);
    write("/proc/self/cgroup", "0::" + group + "\n");
  }
};

struct V1Root : FakeRoot {
  explicit V1Root(const std::string& group = "/") {
    write("/proc/self/mountinfo", kV1Mount);
    write("/proc/self/cgroup",
          "5:cpuset:/elsewhere\n4:cpu,cpuacct:" + group + "\n1:name=systemd:/init.scope\n");
  }
};

TEST(CgroupQuota, v2_limit_of_the_own_group_is_quota_over_period) {
  V2Root root("/user.slice/app");
  root.v2("/sys/fs/cgroup/user.slice/app", "150000 100000\n");
  EXPECT_EQ(root.quota(), 1.5);
}

TEST(CgroupQuota, v2_lower_limit_of_a_parent_wins) {
  V2Root root("/a/b/c");
  root.v2("/sys/fs/cgroup/a", "400000 100000\n");
  root.v2("/sys/fs/cgroup/a/b", "50000 100000\n");
  root.v2("/sys/fs/cgroup/a/b/c", "800000 100000\n");
  EXPECT_EQ(root.quota(), 0.5);
}

TEST(CgroupQuota, v2_limit_of_the_topmost_group_counts) {
  V2Root root("/a/b/c");
  root.v2("/sys/fs/cgroup", "300000 100000\n");
  root.v2("/sys/fs/cgroup/a/b/c", "max 100000\n");
  EXPECT_EQ(root.quota(), 3.0);
}

TEST(CgroupQuota, v2_limit_of_a_sibling_does_not_count) {
  V2Root root("/a/b");
  root.v2("/sys/fs/cgroup/a/b2", "10000 100000\n");
  root.v2("/sys/fs/cgroup/a/b", "200000 100000\n");
  EXPECT_EQ(root.quota(), 2.0);
}

TEST(CgroupQuota, v1_limit_of_the_own_group_is_quota_over_period) {
  V1Root root("/docker/1234");
  root.v1("/sys/fs/cgroup/cpu,cpuacct/docker/1234", "75000\n", "50000\n");
  EXPECT_EQ(root.quota(), 1.5);
}

TEST(CgroupQuota, v1_lower_limit_of_a_parent_wins) {
  V1Root root("/docker/1234");
  root.v1("/sys/fs/cgroup/cpu,cpuacct", "-1\n", "100000\n");
  root.v1("/sys/fs/cgroup/cpu,cpuacct/docker", "100000\n", "100000\n");
  root.v1("/sys/fs/cgroup/cpu,cpuacct/docker/1234", "300000\n", "100000\n");
  EXPECT_EQ(root.quota(), 1.0);
}

TEST(CgroupQuota, v1_group_of_another_controller_is_not_used) {
  V1Root root("/right");
  root.v1("/sys/fs/cgroup/cpu,cpuacct/elsewhere", "10000\n", "100000\n");
  root.v1("/sys/fs/cgroup/cpuset/elsewhere", "10000\n", "100000\n");
  EXPECT_EQ(root.quota(), std::nullopt);
}

TEST(CgroupQuota, controller_names_match_whole_words_only) {
  FakeRoot root;
  root.write("/proc/self/cgroup", "5:cpuset:/x\n3:cpuacct:/x\n");
  root.write("/proc/self/mountinfo",
             "31 30 0:28 / /cg/cpuset rw - cgroup cgroup rw,cpuset\n32 30 0:29 / /cg/acct rw - cgroup cgroup "
             "rw,cpuacct\n");
  root.v1("/cg/cpuset/x", "10000\n", "100000\n");
  root.v1("/cg/acct/x", "10000\n", "100000\n");
  EXPECT_EQ(root.quota(), std::nullopt);
}

TEST(CgroupQuota, hybrid_hierarchy_takes_cpu_from_v1_and_ignores_an_empty_v2) {
  FakeRoot root;
  root.write("/proc/self/cgroup", "4:cpu,cpuacct:/svc\n1:name=systemd:/svc\n0::/svc\n");
  root.write(
      "/proc/self/mountinfo",
      std::string(kV1Mount) + "33 30 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
  root.write("/sys/fs/cgroup/unified/svc/cgroup.procs", "1\n");
  root.v1("/sys/fs/cgroup/cpu,cpuacct/svc", "250000\n", "100000\n");
  EXPECT_EQ(root.quota(), 2.5);
  root.v2("/sys/fs/cgroup/unified/svc", "120000 100000\n");
  EXPECT_EQ(root.quota(), 1.2) << "whichever hierarchy limits harder";
}

TEST(CgroupQuota, mount_points_with_spaces_and_octal_escapes_are_decoded) {
  FakeRoot root;
  root.write("/proc/self/cgroup", "0::/a b\n");
  root.write("/proc/self/mountinfo",
             "29 22 0:26 / /my\\040mounts/tab\\011back\\134slash\\043 rw - cgroup2 none rw\n");
  root.v2("/my mounts/tab\tback\\slash#/a b", "70000 100000\n");
  EXPECT_EQ(root.quota(), 0.7);
}

TEST(CgroupQuota, broken_escapes_are_taken_literally) {
  FakeRoot root;
  root.write("/proc/self/cgroup", "0::/\n");
  root.write("/proc/self/mountinfo", "29 22 0:26 / /x\\9\\777\\04 rw - cgroup2 none rw\n");
  root.v2("/x\\9\\777\\04", "70000 100000\n");
  EXPECT_EQ(root.quota(), 0.7);
}

TEST(CgroupQuota, colons_and_spaces_in_group_names_are_kept) {
  V2Root root("/a:b/c d:");
  root.v2("/sys/fs/cgroup/a:b/c d:", "30000 100000\n");
  EXPECT_EQ(root.quota(), 0.3);
}

TEST(CgroupQuota, bind_mount_of_the_own_group_strips_the_mount_root) {
  // A container without a cgroup namespace: the path is the host's, the mount shows only the container's
  // part.
  FakeRoot root;
  root.write("/proc/self/cgroup", "4:cpu,cpuacct:/docker/12 34/sub\n");
  root.write("/proc/self/mountinfo",
             "32 30 0:29 /docker/12\\04034 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n");
  root.v1("/sys/fs/cgroup/cpu", "200000\n", "100000\n");
  root.v1("/sys/fs/cgroup/cpu/sub", "50000\n", "100000\n");
  root.v1("/sys/fs/cgroup/cpu/docker/12 34/sub", "10000\n", "100000\n");  // a wrong join would find this one
  EXPECT_EQ(root.quota(), 0.5);
}

TEST(CgroupQuota, mount_of_another_branch_is_ignored) {
  FakeRoot root;
  root.write("/proc/self/cgroup", "0::/docker/12345\n");
  root.write("/proc/self/mountinfo",
             "29 22 0:26 /docker/123 /cg rw - cgroup2 none rw\n");  // a prefix as text, not as path
  root.v2("/cg", "10000 100000\n");
  root.v2("/cg/45", "10000 100000\n");
  EXPECT_EQ(root.quota(), std::nullopt);
}

TEST(CgroupQuota, namespace_with_path_slash_reads_the_mount_point) {
  V2Root root("/");
  root.v2("/sys/fs/cgroup", "120000 100000\n");
  EXPECT_EQ(root.quota(), 1.2);
}

TEST(CgroupQuota, mount_made_above_the_namespace_still_shows_an_ancestor) {
  FakeRoot root;
  root.write("/proc/self/cgroup", "0::/\n");
  root.write("/proc/self/mountinfo", "29 22 0:26 /../.. /cg rw - cgroup2 none rw\n");
  root.v2("/cg", "90000 100000\n");
  EXPECT_EQ(root.quota(), 0.9);
}

TEST(CgroupQuota, process_above_its_namespace_is_found_when_the_mount_shows_it) {
  FakeRoot root;
  root.write("/proc/self/cgroup", "0::/../../job\n");
  root.write("/proc/self/mountinfo", "29 22 0:26 /../.. /cg rw - cgroup2 none rw\n");
  root.v2("/cg", "max 100000\n");
  root.v2("/cg/job", "60000 100000\n");
  EXPECT_EQ(root.quota(), 0.6);
}

TEST(CgroupQuota, process_outside_the_mounted_part_has_no_limit) {
  // The mount shows the namespace's root; a process at "/../.." is above it and not bound by its limit.
  V2Root root("/../..");
  root.v2("/sys/fs/cgroup", "10000 100000\n");
  EXPECT_EQ(root.quota(), std::nullopt);
  root.write("/proc/self/cgroup", "0::/\n");
  root.write("/proc/self/mountinfo", "29 22 0:26 /../other /cg rw - cgroup2 none rw\n");
  root.v2("/cg", "10000 100000\n");
  EXPECT_EQ(root.quota(), std::nullopt);
}

TEST(CgroupQuota, several_mounts_of_one_hierarchy_are_all_used) {
  FakeRoot root;
  root.write("/proc/self/cgroup", "0::/a/b\n");
  root.write("/proc/self/mountinfo",
             "1 1 0:1 /a/b /inner rw - cgroup2 none rw\n2 1 0:1 / /outer rw - cgroup2 none rw\n");
  root.v2("/inner", "500000 100000\n");
  root.v2("/outer/a", "200000 100000\n");
  EXPECT_EQ(root.quota(), 2.0);
}

TEST(CgroupQuota, missing_group_directory_falls_back_to_its_ancestors) {
  V2Root root("/a/gone/deeper (deleted)");
  root.v2("/sys/fs/cgroup/a", "110000 100000\n");
  EXPECT_EQ(root.quota(), 1.1);
}

TEST(CgroupQuota, v2_values_that_are_no_limit) {
  const std::string long_text(1 << 20, '1');
  const std::string nul("1000\0 100000", 12);
  for (const std::string& text : {std::string(),
                                  std::string("\n"),
                                  std::string("max"),
                                  std::string("max 100000"),
                                  std::string("max 100000\n"),
                                  std::string("-1 100000\n"),
                                  std::string("0 100000\n"),
                                  std::string("50000 0\n"),
                                  std::string("50000 -5\n"),
                                  std::string("50000"),
                                  std::string("50000\n"),
                                  std::string("50000 100000 7\n"),
                                  std::string("50000x 100000\n"),
                                  std::string("50000 1e5\n"),
                                  std::string("0x10 100000\n"),
                                  std::string("+5 100000"),
                                  std::string("99999999999999999999 100000\n"),
                                  std::string("50000 99999999999999999999\n"),
                                  std::string("abc def\n"),
                                  long_text,
                                  long_text + " 100000\n",
                                  nul,
                                  std::string("\xff\xfe 100000\n")}) {
    V2Root root("/g");
    root.v2("/sys/fs/cgroup/g", text);
    EXPECT_EQ(root.quota(), std::nullopt) << text.substr(0, 40);
  }
}

TEST(CgroupQuota, v1_values_that_are_no_limit) {
  const std::string long_text(1 << 20, '9');
  for (const auto& [quota, period] :
       std::initializer_list<std::pair<std::string, std::string>>{{"", "100000\n"},
                                                                  {"-1\n", "100000\n"},
                                                                  {"-1", "100000"},
                                                                  {"max\n", "100000\n"},
                                                                  {"50000\n", "0\n"},
                                                                  {"50000\n", "-1\n"},
                                                                  {"50000\n", ""},
                                                                  {"50000\n", "max"},
                                                                  {"0\n", "100000\n"},
                                                                  {long_text, "100000\n"},
                                                                  {"5", long_text},
                                                                  {"99999999999999999999\n", "100000\n"},
                                                                  {"5 5\n", "100000\n"},
                                                                  {"5.5\n", "100000\n"}}) {
    V1Root root("/g");
    root.v1("/sys/fs/cgroup/cpu,cpuacct/g", quota, period);
    EXPECT_EQ(root.quota(), std::nullopt) << quota.substr(0, 40) << " / " << period.substr(0, 40);
  }
}

TEST(CgroupQuota, values_without_newline_and_the_largest_numbers_are_read) {
  V2Root root("/g");
  root.v2("/sys/fs/cgroup/g", "50000 100000");
  EXPECT_EQ(root.quota(), 0.5);
  root.v2("/sys/fs/cgroup/g", "9223372036854775807 1");
  EXPECT_EQ(root.quota(), 9223372036854775807.0);
}

TEST(CgroupQuota, malformed_parent_does_not_hide_the_limit_of_the_child) {
  V2Root root("/a/b");
  root.v2("/sys/fs/cgroup/a", "garbage");
  root.v2("/sys/fs/cgroup/a/b", "100000 100000");
  EXPECT_EQ(root.quota(), 1.0);
}

TEST(CgroupQuota, v1_period_file_missing_means_no_limit) {
  V1Root root("/g");
  root.write("/sys/fs/cgroup/cpu,cpuacct/g/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(root.quota(), std::nullopt);
}

TEST(CgroupQuota, limit_files_that_are_directories_or_fifos_are_no_limit) {
  V2Root root("/g");
  std::filesystem::create_directories(root.path() + "/sys/fs/cgroup/g/cpu.max");
  ASSERT_EQ(mkfifo((root.path() + "/sys/fs/cgroup/cpu.max").c_str(), 0600), 0);  // must not block either
  EXPECT_EQ(root.quota(), std::nullopt);
}

TEST(CgroupQuota, missing_or_empty_proc_means_no_limit) {
  FakeRoot root;
  EXPECT_EQ(root.quota(), std::nullopt);
  root.write("/proc/self/cgroup", "0::/g\n");
  EXPECT_EQ(root.quota(), std::nullopt) << "no mountinfo";
  root.write("/proc/self/mountinfo", "");
  EXPECT_EQ(root.quota(), std::nullopt);
  EXPECT_EQ(cgroup_cpu_quota("/no/such/directory"), std::nullopt);
}

TEST(CgroupQuota, malformed_proc_files_are_survived) {
  const std::string long_line(100000, 'x');
  for (const std::string& bad :
       {std::string("\n\n\n"), std::string(":"), std::string("::"), std::string(":::"), std::string("0:"),
        std::string("0::"), std::string("0::relative"), std::string("0::/../../../.."), std::string("1:cpu"),
        std::string("1:,,,cpu,:/"), long_line, std::string(5000, '/'),
        std::string("0::") + std::string(5000, '/'), std::string("\0\0\0", 3), std::string(" - - - ")}) {
    FakeRoot root;
    root.write("/proc/self/cgroup", bad);
    root.write("/proc/self/mountinfo", kV2Mount);
    EXPECT_EQ(root.quota(), std::nullopt) << bad.substr(0, 40);
    root.write("/proc/self/cgroup", "0::/\n1:cpu:/\n");
    root.write("/proc/self/mountinfo", bad);
    EXPECT_EQ(root.quota(), std::nullopt) << bad.substr(0, 40);
  }
}

TEST(CgroupQuota, every_truncation_of_the_proc_files_is_survived) {
  const std::string mounts = std::string(kV1Mount) + kV2Mount;
  const std::string groups = "4:cpu,cpuacct:/g\n0::/g\n";
  FakeRoot root;
  root.v2("/sys/fs/cgroup/g", "50000 100000\n");
  root.write("/proc/self/cgroup", groups);
  for (std::size_t size = 0; size <= mounts.size(); ++size) {
    root.write("/proc/self/mountinfo", mounts.substr(0, size));
    const auto quota = root.quota();
    EXPECT_TRUE(quota == std::nullopt || *quota == 0.5);
  }
  for (std::size_t size = 0; size <= groups.size(); ++size) {
    root.write("/proc/self/cgroup", groups.substr(0, size));
    const auto quota = root.quota();
    EXPECT_TRUE(quota == std::nullopt || *quota == 0.5);
  }
  EXPECT_EQ(root.quota(), 0.5);
}

TEST(CgroupQuota, descriptors_are_closed_again) {
  V2Root root("/a/b");
  root.v2("/sys/fs/cgroup/a", "garbage");
  const int before = dup(0);
  ASSERT_GE(before, 0);
  close(before);
  for (int i = 0; i < 100; ++i) root.quota();
  const int after = dup(0);
  EXPECT_EQ(after, before);
  close(after);
}

TEST(CgroupQuota, real_system_can_be_asked) {
  const auto quota = cgroup_cpu_quota();
  if (quota) {
    EXPECT_GT(*quota, 0.0);
  }
}

TEST(MaxprocsFor, quota_is_rounded_up_with_a_minimum_of_two) {
  EXPECT_EQ(maxprocs_for(8, 0.1), 2);
  EXPECT_EQ(maxprocs_for(8, 0.5), 2);
  EXPECT_EQ(maxprocs_for(8, 1.0), 2);
  EXPECT_EQ(maxprocs_for(8, 1.5), 2);
  EXPECT_EQ(maxprocs_for(8, 2.0), 2);
  EXPECT_EQ(maxprocs_for(8, 2.1), 3);
  EXPECT_EQ(maxprocs_for(8, 7.0), 7);
  EXPECT_EQ(maxprocs_for(8, 7.5), 8);
}

TEST(MaxprocsFor, never_more_than_the_allowed_cpus) {
  EXPECT_EQ(maxprocs_for(1, 0.5), 1);
  EXPECT_EQ(maxprocs_for(1, 4.0), 1);
  EXPECT_EQ(maxprocs_for(4, 64.0), 4);
  EXPECT_EQ(maxprocs_for(4, 1e300), 4);
}

TEST(MaxprocsFor, no_quota_means_all_allowed_cpus_within_the_limit) {
  EXPECT_EQ(maxprocs_for(6, std::nullopt), 6);
  EXPECT_EQ(maxprocs_for(5000, std::nullopt), kMaxDefaultProcs);
  EXPECT_EQ(maxprocs_for(5000, 3000.0), kMaxDefaultProcs);
  EXPECT_EQ(maxprocs_for(5000, 9.0), 9);
}

TEST(MaxprocsFor, nonsense_inputs_give_at_least_one) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(maxprocs_for(0, std::nullopt), 1);
  EXPECT_EQ(maxprocs_for(-7, 3.0), 1);
  EXPECT_EQ(maxprocs_for(4, kNan), 4);
  EXPECT_EQ(maxprocs_for(4, kInfinity), 4);
  EXPECT_EQ(maxprocs_for(4, -1.0), 4);
  EXPECT_EQ(maxprocs_for(4, 0.0), 4);
}

TEST(DefaultMaxprocs, joins_the_mask_and_the_quota) {
  V2Root root("/g");
  root.v2("/sys/fs/cgroup/g", "50000 100000\n");
  EXPECT_EQ(default_maxprocs(root.path()), std::min(2, allowed_cpus()));
  EXPECT_EQ(default_maxprocs("/no/such/directory"), std::min(allowed_cpus(), kMaxDefaultProcs));
}

TEST(AllowedCpus, agree_with_sched_getaffinity) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) GTEST_SKIP() << "kernel built for more than 1024 CPUs";
  std::vector<int> expected;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) expected.push_back(cpu);
  }
  EXPECT_EQ(allowed_cpu_list(), expected);
  EXPECT_EQ(allowed_cpus(), static_cast<int>(expected.size()));
}

TEST(AllowedCpus, follow_the_mask_of_the_calling_thread_or_of_the_one_named) {
  const std::vector<int> all = allowed_cpu_list(getpid());
  std::thread([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(all.back()), &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(allowed_cpu_list(), std::vector<int>{all.back()});
    EXPECT_EQ(allowed_cpu_list(getpid()), all);
  }).join();
}

TEST(AllowedCpus, mask_grows_for_machines_with_more_than_1024_cpus) {
  const auto reader = [](int, std::size_t bytes, void* mask) {
    if (bytes < 8192 / 8) {
      errno = EINVAL;
      return -1;
    }
    std::memset(mask, 0, bytes);
    auto* const byte = static_cast<unsigned char*>(mask);
    byte[0] = 0x81;
    byte[8191 / 8] = 0x80;
    byte[1024 / 8] = 0x01;
    return 0;
  };
  EXPECT_EQ(cpu_list_from(reader, 0), (std::vector<int>{0, 7, 1024, 8191}));
}

TEST(AllowedCpus, refused_or_empty_mask_falls_back_to_the_online_cpus) {
  const auto online = static_cast<std::size_t>(std::max(1l, sysconf(_SC_NPROCESSORS_ONLN)));
  const auto refused = [](int, std::size_t, void*) {
    errno = EPERM;
    return -1;
  };
  const auto empty = [](int, std::size_t bytes, void* mask) {
    std::memset(mask, 0, bytes);
    return 0;
  };
  const auto endless = [](int, std::size_t, void*) {
    errno = EINVAL;
    return -1;
  };
  EXPECT_EQ(cpu_list_from(refused, 0).size(), online);
  EXPECT_EQ(cpu_list_from(empty, 0).size(), online);
  EXPECT_EQ(cpu_list_from(endless, 0).size(), online);
}

}  // namespace
}  // namespace weft::os
