// SPDX-License-Identifier: MIT
// weft-tools trace FILE: the program behind `weft trace`.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "trace_reader/replay.h"
#include "trace_reader/text.h"
#include "trace_reader/timeline.h"
#include "viewer/outputs.h"

namespace {

constexpr std::string_view kHelp =
    "usage: weft trace FILE [--summary | --json | --check] [-o OUTPUT]\n"
    "\n"
    "Turns an execution trace (WEFT_TRACE=FILE, or one of Go's) into one HTML page that needs no network: FILE.html, "
    "or\n"
    "OUTPUT. A file that was cut short is shown up to there.\n"
    "\n"
    "  --summary   prints text: utilisation, goroutines by spawn site, what they waited for, the longest waits\n"
    "  --json      prints the JSON that Perfetto and Chrome's tracing page open\n"
    "  --check     replays the scheduler and says whether the trace is valid: exit status 0 or 1\n"
    "  -o OUTPUT   where the result goes (- is stdout)\n";

enum class Mode { kPage, kSummary, kJson, kCheck };

struct Arguments {
  Mode mode = Mode::kPage;
  std::string file;
  std::string output;
  bool help = false;
  std::string mistake;
};

Arguments parse(const std::vector<std::string>& words) {
  Arguments result;
  bool mode_given = false;
  for (std::size_t i = 0; i < words.size() && result.mistake.empty(); ++i) {
    const std::string& word = words[i];
    const auto mode = [&](Mode value) {
      if (mode_given) result.mistake = "one of --summary, --json and --check only";
      mode_given = true;
      result.mode = value;
    };
    if (word == "-h" || word == "--help") {
      result.help = true;
    } else if (word == "--summary") {
      mode(Mode::kSummary);
    } else if (word == "--json") {
      mode(Mode::kJson);
    } else if (word == "--check") {
      mode(Mode::kCheck);
    } else if (word == "-o") {
      if (i + 1 == words.size()) {
        result.mistake = "-o needs a file name";
      } else {
        result.output = words[++i];
      }
    } else if (word.starts_with("-o")) {
      result.output = word.substr(2);
    } else if (word.size() > 1 && word[0] == '-') {
      result.mistake = "unknown flag: " + word;
    } else if (!result.file.empty()) {
      result.mistake = "one file only: " + result.file + " or " + word + "?";
    } else {
      result.file = word;
    }
  }
  if (result.mistake.empty() && !result.help && result.file.empty()) result.mistake = "no trace file given";
  if (result.mistake.empty() && result.mode == Mode::kCheck && !result.output.empty())
    result.mistake = "--check writes no file";
  return result;
}

int bad_use(const std::string& mistake) {
  std::cerr << "weft: " << weft::tools::visible(mistake) << "\n" << kHelp.substr(0, kHelp.find('\n') + 1);
  return 2;
}

int fail(const std::string& file, const std::string& reason) {
  std::cerr << "weft: " << weft::tools::visible(file) << ": " << reason << "\n";
  return 1;
}

std::string fault_text(const weft::tools::Fault& fault) {
  return "offset " + std::to_string(fault.offset) + ": " + weft::tools::visible(fault.reason);
}

struct Counter final : weft::tools::EventSink {
  void event(const weft::tools::OrderedEvent&) override { ++events; }
  void sample(const weft::tools::CpuSample&, std::int64_t) override { ++events; }
  std::uint64_t events = 0;
};

int check(const Arguments& arguments, const weft::tools::TraceFile& file) {
  Counter counter;
  if (const auto fault = weft::tools::replay(file, counter)) return fail(arguments.file, fault_text(*fault));
  std::cout << weft::tools::visible(arguments.file) << ": valid, " << counter.events << " events in "
            << file.generations.size() << (file.generations.size() == 1 ? " generation\n" : " generations\n");
  return 0;
}

int show(const Arguments& arguments, const weft::tools::TraceFile& file) {
  const weft::tools::Timeline line = weft::tools::make_timeline(file);
  if (line.fault && line.events == 0) return fail(arguments.file, fault_text(*line.fault));
  std::string output = arguments.output;
  if (output.empty()) output = arguments.mode == Mode::kPage ? arguments.file + ".html" : "-";
  std::ofstream out_file;
  if (output != "-") {
    out_file.open(output, std::ios::binary | std::ios::trunc);
    if (!out_file) return fail(output, std::string("cannot be written: ") + std::strerror(errno));
  }
  std::ostream& out = output == "-" ? std::cout : out_file;
  switch (arguments.mode) {
    case Mode::kSummary: weft::tools::write_summary(out, line, arguments.file); break;
    case Mode::kJson:    weft::tools::write_perfetto(out, line); break;
    default:             weft::tools::write_page(out, line, arguments.file); break;
  }
  out.flush();
  if (!out) return fail(output == "-" ? "stdout" : output, "cannot be written to the end");
  if (line.fault) {
    return fail(arguments.file, fault_text(*line.fault) + " (what stands before it, " + std::to_string(line.events) +
                                    " events, is shown)");
  }
  if (output != "-") std::cerr << "weft: wrote " << weft::tools::visible(output) << "\n";
  return 0;
}

// Reads the whole file; an errno if it cannot be read. With stdio, because streams throw when they meet a directory.
int read_file(const std::string& path, std::string& bytes) {
  std::FILE* const in = std::fopen(path.c_str(), "rb");
  if (in == nullptr) return errno;
  std::vector<char> buffer(1 << 20);
  std::size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), in)) > 0) bytes.append(buffer.data(), got);
  const int error = std::ferror(in) != 0 ? errno : 0;
  std::fclose(in);
  return error;
}

int trace(const std::vector<std::string>& words) {
  const Arguments arguments = parse(words);
  if (!arguments.mistake.empty()) return bad_use(arguments.mistake);
  if (arguments.help) {
    std::cout << kHelp;
    return 0;
  }
  std::string bytes;
  if (const int error = read_file(arguments.file, bytes); error == ENOENT) {
    return bad_use("no such file: " + arguments.file);
  } else if (error != 0) {
    return fail(arguments.file, std::string("cannot be read: ") + std::strerror(error));
  }
  const weft::tools::TraceFile file =
      weft::tools::read_trace({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});  // chars as bytes
  return arguments.mode == Mode::kCheck ? check(arguments, file) : show(arguments, file);
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words[0] != "trace") return bad_use("weft-tools knows `trace` only");
  try {
    return trace({words.begin() + 1, words.end()});
  } catch (const std::bad_alloc&) {
    std::cerr << "weft: not enough memory for this trace\n";
    return 1;
  }
}
