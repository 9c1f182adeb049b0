// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

// For tests that build programs and libraries of their own: how a thing was compiled and linked is what they
// are about.
namespace weft::test {

struct Outcome {
  int status = -1;     // exit status; 128 + signal if one ended it; -1 if it could not be run
  std::string output;  // standard output and standard error
};

inline Outcome run_command(const std::string& command) {
  Outcome outcome;
  FILE* const pipe = popen(("(" + command + ") 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  for (std::size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.output.append(buffer, got);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

// A directory for one test's files, removed with its contents.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "cannot make a directory like " << pattern;
    path_ = pattern;
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

class Compiler {
 public:
  // Reasons why nothing can be compiled here end up in missing(); tests then skip with that text.
  explicit Compiler(const std::filesystem::path& source_root) : source_root_(std::filesystem::absolute(source_root)) {
    if (!std::filesystem::exists(source_root_ / "os")) {
      missing_ = "the sources are not at " + source_root_.string();
      return;
    }
    const char* const chosen = std::getenv("CXX");
    for (const std::string candidate :
         {chosen ? chosen : "", "c++", "g++", "clang++", "clang++-19", "aarch64-linux-gnu-g++"}) {
      if (candidate.empty()) continue;
      const Outcome machine = run_command(candidate + " -dumpmachine");
      if (machine.status != 0 || !machine.output.starts_with(kMachine))
        continue;  // under emulation: the other machine's
      command_ = candidate;
      return;
    }
    missing_.append("no C++ compiler for ").append(kMachine).append(" found: set CXX");
  }

  const std::string& missing() const { return missing_; }

  // Runs a program that was compiled here; WEFT_TEST_RUNNER names the emulator if it needs one.
  static Outcome run(const std::string& program) {
    const char* const runner = std::getenv("WEFT_TEST_RUNNER");
    return run_command((runner ? runner + std::string(" ") : std::string()) + program);
  }
  std::string source(const std::string& name) const { return (source_root_ / name).string(); }

  // Runs the compiler with these arguments; a failure fails the test and shows what it said.
  bool operator()(const std::string& arguments) const {
    const Outcome outcome = run_command(command_ + " -std=c++20 -I'" + source_root_.string() + "' " + arguments);
    if (outcome.status != 0) ADD_FAILURE() << command_ << " " << arguments << "\n" << outcome.output;
    return outcome.status == 0;
  }
  // The same, when a failure only means that something is not installed.
  bool can(const std::string& arguments) const {
    return run_command(command_ + " -std=c++20 -I'" + source_root_.string() + "' " + arguments).status == 0;
  }

 private:
#if defined(__aarch64__)
  static constexpr const char* kMachine = "aarch64";
#else
  static constexpr const char* kMachine = "x86_64";
#endif

  std::filesystem::path source_root_;
  std::string command_;
  std::string missing_;
};

}  // namespace weft::test
