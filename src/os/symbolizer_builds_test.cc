// SPDX-License-Identifier: MIT
// test-labels: qemu
// test-timeout: 180
// Names and lines in programs built in many ways.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "support/compiler.h"

namespace weft::os {
namespace {

const char kProbe[] = R"(
#include <cstdio>
#include <cstring>
#include <string>
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>
#include "os/backtrace.h"
#include "os/symbolizer.h"

asm(".text\n.globl probe_unsized\n.hidden probe_unsized\nprobe_unsized:\nnop\nnop\nnop\nnop\n"
    ".type probe_after,%function\nprobe_after:\nnop\n.size probe_after,.-probe_after\n");
extern "C" void probe_unsized();

namespace {

__attribute__((noinline)) const char* here() {
  return static_cast<const char*>(__builtin_extract_return_addr(__builtin_return_address(0))) - 1;
}

std::string base(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void show(const char* what, const void* pc, unsigned expected_line) {
  const weft::os::Symbol symbol = weft::os::symbolize(pc);
  std::printf("%s|%s|%s|%s|%s\n", what, symbol.function.c_str(), base(symbol.file).c_str(),
              symbol.line == 0 ? "no line" : symbol.line == expected_line ? "right line" : "wrong line",
              base(symbol.module).c_str());
  void* frames[] = {const_cast<void*>(pc)};
  std::fflush(stdout);
  if (std::strcmp(what, "static") == 0) weft::os::write_frames(1, frames, 1);
}

struct Widget {
  template <class T>
  __attribute__((noinline)) void poke(T) {
    const char* pc = here(); const unsigned line = __LINE__;
    show("method", pc, line);
  }
};

__attribute__((noinline)) void overflow(volatile char* at) { *at = 1; asm volatile("" ::: "memory"); }

void on_crash(int) {
  void* frames[64];
  weft::os::write_frames(1, frames, weft::os::capture_backtrace(frames, 64, 0));
  _exit(42);
}

}  // namespace

static __attribute__((noinline)) void static_function() {
  const char* pc = here(); const unsigned line = __LINE__;
  show("static", pc, line);
}

static __attribute__((noinline)) void user_of_headers() {
  const char* pc = weft_probe_outer(here); const unsigned line = __LINE__;
  show("inlined", pc, line);
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "unlink") unlink(argv[0]);
  if (mode == "crash") {
    static char stack[64 * 1024];
    stack_t alternate{}; alternate.ss_sp = stack; alternate.ss_size = sizeof stack;
    sigaltstack(&alternate, nullptr);
    struct sigaction action{}; action.sa_handler = on_crash; action.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
    weft::os::warm_up_unwinder();
    overflow(nullptr);
    return 1;
  }
  if (mode == "reload") {
    for (int i = 2; i < argc; ++i) {
      void* const handle = dlopen(argv[i], RTLD_NOW);
      if (handle == nullptr) { std::puts(dlerror()); return 1; }
      show("library", dlsym(handle, "exported"), 0);
      reinterpret_cast<void (*)(void (*)(const char*, const void*, unsigned))>(dlsym(handle, "exported"))(show);
      dlclose(handle);
    }
    return 0;
  }
  static_function();
  user_of_headers();
  Widget().poke(static_cast<float>(argc));
  show("unsized", reinterpret_cast<const char*>(probe_unsized) + 2, 0);
}
)";

// Written to a directory like that of weft's own headers.
const char kProbeHeader[] = R"(
__attribute__((always_inline)) inline const char* weft_probe_inner(const char* (*here)()) {
  const char* pc = here();
  asm volatile("" : "+r"(pc));
  return pc;
}
__attribute__((always_inline)) inline const char* weft_probe_outer(const char* (*here)()) {
  return weft_probe_inner(here);
}
)";

const char kLibrary[] = R"(
extern "C" void exported(void (*show)(const char*, const void*, unsigned));
static __attribute__((noinline)) const char* here() {
  return static_cast<const char*>(__builtin_extract_return_addr(__builtin_return_address(0))) - 1;
}
static __attribute__((noinline)) void HIDDEN_NAME(void (*show)(const char*, const void*, unsigned)) {
  const char* pc = here(); const unsigned line = __LINE__;
  show("in library", pc, line);
}
void exported(void (*show)(const char*, const void*, unsigned)) { HIDDEN_NAME(show); asm volatile(""); }
)";

class SymbolizerBuilds : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = new Shared;
    if (!shared_->compile.missing().empty()) return;
    const std::string empty = shared_->scratch.write("empty.cc", "int main() {}");
    shared_->compile("-o " + shared_->scratch.file("empty") + " " + empty);
    shared_->can_run = test::Compiler::run(shared_->scratch.file("empty")).status == 0;
    if (!shared_->can_run) return;
    shared_->scratch.write("probe.cc", kProbe);
    std::filesystem::create_directories(shared_->scratch.file("include/weft"));
    shared_->scratch.write("include/weft/probe.h", kProbeHeader);
    shared_->scratch.write("library.cc", kLibrary);
    for (const std::string name :
         {"symbolizer", "frame_writer", "elf_image", "dwarf_form", "dwarf_line", "dwarf_inline", "backtrace"}) {
      const std::string object = shared_->scratch.file(name + ".o");
      shared_->compile("-O1 -g0 -fPIE -c -o " + object + " " + shared_->compile.source("os/" + name + ".cc"));
      shared_->objects += " " + object;
    }
  }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }
  void SetUp() override {
    if (!shared_->compile.missing().empty()) GTEST_SKIP() << shared_->compile.missing();
    if (!shared_->can_run) GTEST_SKIP() << "programs compiled here cannot be run: set WEFT_TEST_RUNNER";
  }

  // An emulator stands between the program and what it should find.
  static bool is_emulated() { return std::getenv("WEFT_TEST_RUNNER") != nullptr; }

  static std::string build_arguments(const std::string& flags) {
    return flags + " -include " + shared_->scratch.file("include/weft/probe.h") + " -o " +
           shared_->scratch.file("probe") + " " + shared_->scratch.file("probe.cc") + shared_->objects +
           " -ldl -lpthread";
  }

  // Lines of the probe's report by their first word.
  static std::map<std::string, std::string> report(const std::string& output) {
    std::map<std::string, std::string> result;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      constexpr std::string_view kClone = " [clone .constprop.0]";  // a copy with fewer parameters
      if (const std::size_t at = line.find(kClone); at != std::string::npos) line.erase(at, kClone.size());
      const std::size_t bar = line.find('|');
      if (bar != std::string::npos) result[line.substr(0, bar)] = line.substr(bar + 1);
    }
    return result;
  }

  static void expect_report(const std::string& output, const std::string& line, const std::string& module) {
    const std::string file = line == "no line" ? "" : "probe.cc";
    auto got = report(output);
    EXPECT_EQ(got["static"], "static_function()|" + file + "|" + line + "|" + module) << output;
    EXPECT_EQ(got["method"],
              "void (anonymous namespace)::Widget::poke<float>(float)|" + file + "|" + line + "|" + module)
        << output;
    EXPECT_EQ(got["unsized"].substr(0, 14), "probe_unsized|") << output;
    EXPECT_EQ(got["inlined"], "user_of_headers()|" + file + "|" + line + "|" + module) << "the user's line\n" << output;
    // The same by write_frames().
    EXPECT_NE(output.find("\n  static_function()\n      "), std::string::npos) << output;
    EXPECT_EQ(output.find("/probe.cc:") != std::string::npos, line != "no line") << output;
  }

  static void expect_build(const std::string& flags, const std::string& line = "right line") {
    SCOPED_TRACE(flags);
    if (!shared_->compile(build_arguments(flags))) return;
    const test::Outcome outcome = test::Compiler::run(shared_->scratch.file("probe"));
    EXPECT_EQ(outcome.status, 0);
    expect_report(outcome.output, line, "probe");
  }
  static void expect_build_if_possible(const std::string& flags, const std::string& line = "right line") {
    if (!shared_->compile.can(build_arguments(flags))) GTEST_SKIP() << "this compiler cannot " << flags;
    expect_build(flags, line);
  }

  struct Shared {
    test::Compiler compile{std::filesystem::path(__FILE__).parent_path().parent_path()};
    test::ScratchDirectory scratch;
    bool can_run = false;
    std::string objects;
  };
  static Shared* shared_;
};
SymbolizerBuilds::Shared* SymbolizerBuilds::shared_ = nullptr;

TEST_F(SymbolizerBuilds, position_independent) { expect_build("-g -O1 -fPIE -pie"); }
TEST_F(SymbolizerBuilds, fixed_position) { expect_build("-g -O1 -fno-pie -no-pie"); }
TEST_F(SymbolizerBuilds, fully_static) { expect_build_if_possible("-g -O1 -static"); }
TEST_F(SymbolizerBuilds, static_and_position_independent) { expect_build_if_possible("-g -O1 -fPIE -static-pie"); }
TEST_F(SymbolizerBuilds, code_and_headers_in_one_segment) { expect_build("-g -O1 -Wl,-z,noseparate-code"); }
TEST_F(SymbolizerBuilds, dropped_functions) { expect_build("-g -O1 -ffunction-sections -Wl,--gc-sections"); }
TEST_F(SymbolizerBuilds, linked_by_gold) { expect_build_if_possible("-g -O1 -fuse-ld=gold"); }
TEST_F(SymbolizerBuilds, linked_by_lld) { expect_build_if_possible("-g -O1 -fuse-ld=lld"); }
TEST_F(SymbolizerBuilds, optimised) { expect_build("-g -O2"); }
TEST_F(SymbolizerBuilds, not_optimised) { expect_build("-g -O0"); }
TEST_F(SymbolizerBuilds, dwarf_3) { expect_build("-g -O1 -gdwarf-3"); }
TEST_F(SymbolizerBuilds, dwarf_4) { expect_build("-g -O1 -gdwarf-4"); }
TEST_F(SymbolizerBuilds, dwarf_5) { expect_build("-g -O1 -gdwarf-5"); }
TEST_F(SymbolizerBuilds, lines_only) { expect_build("-g1 -O1"); }
TEST_F(SymbolizerBuilds, no_debug_information) { expect_build("-g0 -O1", "no line"); }
TEST_F(SymbolizerBuilds, compressed_debug_information) { expect_build_if_possible("-g -O1 -gz=zlib", "no line"); }

TEST_F(SymbolizerBuilds, stripped_program_still_knows_where_it_is) {
  ASSERT_TRUE(shared_->compile(build_arguments("-O1 -s")));
  const test::Outcome outcome = test::Compiler::run(shared_->scratch.file("probe"));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(report(outcome.output)["static"], "||no line|probe") << outcome.output;
  EXPECT_NE(outcome.output.find("\n  ??\n      " + shared_->scratch.file("probe") + " +0x"), std::string::npos)
      << outcome.output;
}

TEST_F(SymbolizerBuilds, started_through_the_dynamic_loader) {
  const std::string loader =
      test::run_command("ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 2>/dev/null").output;
  if (loader.empty() || is_emulated()) GTEST_SKIP() << "no loader at a known place";
  ASSERT_TRUE(shared_->compile(build_arguments("-g -O1")));
  const test::Outcome outcome =
      test::Compiler::run(loader.substr(0, loader.find('\n')) + " " + shared_->scratch.file("probe"));
  EXPECT_EQ(outcome.status, 0);
  expect_report(outcome.output, "right line", "probe");
}

TEST_F(SymbolizerBuilds, deleted_while_it_runs) {
  if (is_emulated()) GTEST_SKIP() << "the emulator resolves the link to the program by its name";
  ASSERT_TRUE(shared_->compile(build_arguments("-g -O1")));
  const test::Outcome outcome = test::Compiler::run(shared_->scratch.file("probe") + " unlink");
  EXPECT_EQ(outcome.status, 0);
  expect_report(outcome.output, "right line", "probe (deleted)");
}

TEST_F(SymbolizerBuilds, libraries_loaded_one_after_the_other_are_not_confused) {
  ASSERT_TRUE(shared_->compile(build_arguments("-g -O1")));
  const std::string one = shared_->scratch.file("one.so"), two = shared_->scratch.file("two.so");
  for (const std::string& path : {one, two}) {
    const std::string name = path == one ? "hidden_one" : "hidden_two";
    ASSERT_TRUE(shared_->compile("-g -O1 -fPIC -shared -DHIDDEN_NAME=" + name + " -o " + path + " " +
                                 shared_->scratch.file("library.cc")));
  }
  const test::Outcome outcome =
      test::Compiler::run(shared_->scratch.file("probe") + " reload " + one + " " + two + " " + one);
  EXPECT_EQ(outcome.status, 0);
  std::string expected;
  for (const std::string name : {"one", "two", "one"}) {
    expected += "library|exported|library.cc|wrong line|" + name + ".so\n";
    expected += "in library|hidden_" + name +
                "(void (*)(char const*, void const*, unsigned int))|library.cc|right line|" + name + ".so\n";
  }
  EXPECT_EQ(outcome.output, expected);
}

TEST_F(SymbolizerBuilds, crash_report_from_a_signal_stack) {
  for (const std::string flags : {"-g -O1", "-g -O1 -no-pie -fno-pie"}) {
    SCOPED_TRACE(flags);
    ASSERT_TRUE(shared_->compile(build_arguments(flags)));
    const test::Outcome outcome = test::Compiler::run(shared_->scratch.file("probe") + " crash");
    EXPECT_EQ(outcome.status, 42) << outcome.output;
    EXPECT_EQ(outcome.output.find("  #0 0x"), 0u) << outcome.output;
    EXPECT_NE(outcome.output.find("\n  (anonymous namespace)::overflow(char volatile*)\n      "), std::string::npos)
        << outcome.output;
    EXPECT_NE(outcome.output.find("\n  main\n      "), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find("/probe.cc:"), std::string::npos) << outcome.output;
    // The raw lines are good enough for addr2line.
    const std::size_t main_line = outcome.output.find("/probe+0x");
    ASSERT_NE(main_line, std::string::npos);
  }
}

TEST_F(SymbolizerBuilds, raw_offsets_are_what_addr2line_takes) {
  if (test::run_command("addr2line --version").status != 0 || is_emulated()) GTEST_SKIP() << "no addr2line";
  for (const std::string flags : {"-g -O1 -fPIE -pie", "-g -O1 -no-pie -fno-pie"}) {
    SCOPED_TRACE(flags);
    ASSERT_TRUE(shared_->compile(build_arguments(flags)));
    const std::string output = test::Compiler::run(shared_->scratch.file("probe")).output;
    const std::size_t at = output.find("/probe+0x");
    ASSERT_NE(at, std::string::npos) << output;
    const std::string offset = output.substr(at + 7, output.find('\n', at) - at - 7);
    const std::string found =
        test::run_command("addr2line -f -e " + shared_->scratch.file("probe") + " " + offset).output;
    EXPECT_NE(found.find("static_function"), std::string::npos) << offset << "\n" << found;
  }
}

}  // namespace
}  // namespace weft::os
