// SPDX-License-Identifier: MIT
// test-labels: qemu
#include "os/instance.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/compiler.h"

namespace weft::os {
namespace {

namespace fs = std::filesystem;

const char kPluginSource[] = R"(
#include "os/instance.h"
#define EXPORTED extern "C" __attribute__((visibility("default")))
EXPORTED void plugin_mark() { weft::os::mark_instance_started(); }
EXPORTED const char* plugin_other() { return weft::os::other_started_instance(); }
)";

// Builds plug-ins, each with a static copy of instance.cc, in a directory of their own.
class InstanceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!compile_.missing().empty()) GTEST_SKIP() << compile_.missing();
    scratch_.write("plugin.cc", kPluginSource);
  }

  // As an archive, to show that the linker pulls in the object with the note.
  std::string build_plugin(const std::string& name, const std::string& flags) {
    const std::string all = "-O2 -fPIC " + flags;
    const std::string object = scratch_.file("instance.o"), archive = scratch_.file("libcopy.a");
    compile_(all + " -c -o " + object + " " + compile_.source("os/instance.cc"));
    EXPECT_EQ(test::run_command("rm -f " + archive + "; ar crs " + archive + " " + object).status, 0);
    compile_(all + " -shared -o " + scratch_.file(name) + " " + scratch_.file("plugin.cc") + " " + archive);
    return scratch_.file(name);
  }

  struct Plugin {
    void* handle = nullptr;
    void (*mark)() = nullptr;
    const char* (*other)() = nullptr;
  };
  static Plugin load(const std::string& path, int mode) {
    Plugin plugin;
    plugin.handle = dlopen(path.c_str(), RTLD_NOW | mode);
    if (plugin.handle == nullptr) {
      ADD_FAILURE() << dlerror();
      return plugin;
    }
    plugin.mark = reinterpret_cast<void (*)()>(dlsym(plugin.handle, "plugin_mark"));
    plugin.other = reinterpret_cast<const char* (*)()>(dlsym(plugin.handle, "plugin_other"));
    return plugin;
  }

  // The whole story for one way of building and loading.
  void expect_detection(const std::string& flags, int mode) {
    SCOPED_TRACE(flags);
    const std::string first_path = build_plugin("first.so", flags);
    const std::string second_path = build_plugin("second.so", flags);
    const Plugin first = load(first_path, mode);
    const Plugin second = load(second_path, mode);
    ASSERT_TRUE(first.mark && first.other && second.mark && second.other);
    EXPECT_EQ(first.other(), nullptr) << "nobody has started";
    EXPECT_EQ(second.other(), nullptr);
    first.mark();
    EXPECT_EQ(first.other(), nullptr) << "a copy does not see itself";
    ASSERT_NE(second.other(), nullptr);
    EXPECT_EQ(second.other(), first_path);
    EXPECT_EQ(std::string(other_started_instance()), first_path) << "seen from the program's own copy";
    second.mark();
    ASSERT_NE(first.other(), nullptr);
    EXPECT_EQ(first.other(), second_path) << "both see each other when both are marked";
    dlclose(first.handle);
    ASSERT_NE(other_started_instance(), nullptr) << "the second is still loaded";
    EXPECT_EQ(std::string(other_started_instance()), second_path);
    dlclose(second.handle);
    EXPECT_EQ(other_started_instance(), nullptr) << "both are gone";
  }

  test::Compiler compile_{fs::path(__FILE__).parent_path().parent_path()};
  test::ScratchDirectory scratch_;
};

TEST_F(InstanceTest, copies_in_two_shared_objects_see_each_other) {
  expect_detection("-fvisibility=hidden", RTLD_LOCAL);
}

TEST_F(InstanceTest, note_survives_garbage_collection_of_sections) {
  expect_detection("-fvisibility=hidden -ffunction-sections -fdata-sections -Wl,--gc-sections", RTLD_LOCAL);
}

TEST_F(InstanceTest, note_survives_stripping) { expect_detection("-fvisibility=hidden -s", RTLD_LOCAL); }

TEST_F(InstanceTest, copies_with_default_visibility_are_seen) { expect_detection("", RTLD_LOCAL); }

// In a child process, because a mark cannot be taken back.
TEST_F(InstanceTest, plugin_sees_that_the_program_has_started) {
  const Plugin plugin = load(build_plugin("plugin.so", "-fvisibility=hidden"), RTLD_LOCAL);
  ASSERT_TRUE(plugin.other);
  EXPECT_EQ(plugin.other(), nullptr);
  EXPECT_EXIT(
      {
        mark_instance_started();
        const char* const path = plugin.other();
        const std::string program = fs::read_symlink("/proc/self/exe").string();
        std::_Exit(path != nullptr && path == program && other_started_instance() == nullptr ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  dlclose(plugin.handle);
}

TEST(Instance, single_copy_sees_no_other_before_and_after_its_start) {
  EXPECT_EQ(other_started_instance(), nullptr);
  EXPECT_EXIT(
      {
        mark_instance_started();
        mark_instance_started();
        std::_Exit(other_started_instance() == nullptr ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Instance, own_note_is_in_a_loaded_note_segment) {
  const auto visit = [](dl_phdr_info* module, std::size_t, void* data) {
    for (int i = 0; i < module->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = module->dlpi_phdr[i];
      if (header.p_type != PT_NOTE) continue;
      const std::string notes(reinterpret_cast<const char*>(module->dlpi_addr + header.p_vaddr),
                              header.p_memsz);
      if (notes.find(std::string("weft\0", 5)) != std::string::npos) *static_cast<bool*>(data) = true;
    }
    return 1;  // the program comes first
  };
  bool found = false;
  dl_iterate_phdr(visit, &found);
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace weft::os
