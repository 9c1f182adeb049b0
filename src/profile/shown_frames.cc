// SPDX-License-Identifier: MIT
#include "profile/shown_frames.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "sched/frames/runtime_text.h"

namespace weft::profile {

std::pair<std::size_t, std::size_t> shown_part(const std::vector<void*>& stack) {
  const auto is_runtime = [&](std::size_t i) { return sched::in_runtime(reinterpret_cast<std::uintptr_t>(stack[i])); };
  std::size_t begin = 0, end = stack.size();
  while (end > 0 && is_runtime(end - 1)) --end;
  if (end == 0) return {0, stack.size()};  // the scheduler itself computes
  while (begin + 1 < end && is_runtime(begin) && is_runtime(begin + 1)) ++begin;
  return {begin, end};
}

namespace {

bool is_named_as_glue(const std::string& function) {
  static constexpr std::string_view kGlue[] = {
      "weft::detail::inline_entry", "weft::detail::boxed_entry", "weft::detail::run_and_destroy",
      "weft::detail::run_and_delete", "weft::detail::call_last", "weft::detail::call_for", "weft::detail::owned_call",
      "weft::detail::task_state", "weft::detail::main_closure", "weft::detail::bind", "std::__invoke", "std::invoke"};
  const std::string name = short_name(function);
  return std::ranges::any_of(kGlue, [&](std::string_view glue) { return name.starts_with(glue); });
}

}  // namespace

bool is_glue(const os::Symbol& symbol) {
  const bool is_of_users = !symbol.file.empty() && symbol.file.find("/weft/") == std::string::npos &&
                           symbol.file.find("/c++/") == std::string::npos;
  return !is_of_users && is_named_as_glue(symbol.function);
}

std::string short_name(const std::string& function) {
  std::string name;
  int depth = 0;
  const bool is_anonymous_operator = function.find("operator()") != std::string::npos;
  for (std::size_t i = 0; i < function.size(); ++i) {
    const std::string_view rest = std::string_view(function).substr(i);
    if (depth == 0) {
      if (rest.starts_with("operator()")) {
        name += "operator()", i += 9;
        continue;
      }
      if (rest.starts_with("(anonymous namespace)")) {
        name += "(anonymous namespace)", i += 20;
        continue;
      }
      if (rest.starts_with("operator") && rest.size() > 8 && (rest[8] == '<' || rest[8] == '>' || rest[8] == '-')) {
        const std::size_t end = rest.find('(');
        name += rest.substr(0, end), i += (end == std::string_view::npos ? rest.size() : end) - 1;
        continue;
      }
    }
    if (function[i] == '<' || function[i] == '(') {
      ++depth;
    } else if ((function[i] == '>' || function[i] == ')') && depth > 0) {
      --depth;
    } else if (depth == 0) {
      name += function[i];
    }
  }
  if (name.ends_with(" const")) name.resize(name.size() - 6);
  if (is_anonymous_operator && name.ends_with("::operator()")) name.resize(name.size() - 12);
  // The return type of a template's instance; "operator new" and "(anonymous namespace)" keep their spaces.
  for (std::size_t space; (space = name.find(' ')) != std::string::npos && !name.starts_with("operator ");) {
    const std::size_t inside = name.find("(anonymous namespace)");
    const std::size_t conversion = name.find("operator ");
    if (inside != std::string::npos && space == inside + 10) break;
    if (conversion != std::string::npos && space >= conversion) break;
    name.erase(0, space + 1);
  }
  return name.empty() ? function : name;
}

std::string name_of(const os::Symbol& symbol) {
  if (symbol.function.empty()) return "[" + symbol.module.substr(symbol.module.find_last_of('/') + 1) + "]";
  if (!is_named_as_glue(symbol.function)) return symbol.function;
  return "{" + symbol.file.substr(symbol.file.find_last_of('/') + 1) + ":" + std::to_string(symbol.line) + "}";
}

std::string folded(const Profile& profile) {
  std::string out;
  for (const auto& [key, values] : profile.samples()) {
    std::string line = key.root;
    const auto [begin, end] = shown_part(key.stack);
    for (std::size_t i = end; i > begin; --i) {
      const os::Symbol symbol = os::symbolize(key.stack[i - 1]);
      if (is_glue(symbol)) continue;
      std::string name = short_name(name_of(symbol));
      std::ranges::replace(name, ';', ':');
      line += (line.empty() ? "" : ";") + name;
    }
    out += (line.empty() ? "?" : line) + " " + std::to_string(values.empty() ? 0 : values[0]) + "\n";
  }
  return out;
}

std::string listing(const Profile& profile) {
  std::vector<const Profile::Samples::value_type*> samples;
  std::int64_t total = 0;
  for (const auto& sample : profile.samples()) {
    samples.push_back(&sample);
    total += sample.second[0];
  }
  std::ranges::stable_sort(samples, std::ranges::greater(), [](const auto* sample) { return sample->second[0]; });
  std::string out = std::string(profile.types()[0].type) + " profile: total " + std::to_string(total) + "\n";
  char text[40];
  for (const auto* sample : samples) {
    const auto& [key, values] = *sample;
    out += std::to_string(values[0]) + " @";
    for (void* pc : key.stack) out += (std::snprintf(text, sizeof text, " %p", pc), text);
    out += "\n";
    for (const auto& [name, value] : key.labels) out += "# " + name + ": " + value + "\n";
    const auto [begin, end] = shown_part(key.stack);
    for (std::size_t i = begin; i < end; ++i) {
      const os::Symbol symbol = os::symbolize(key.stack[i]);
      if (is_glue(symbol)) continue;
      out += (std::snprintf(text, sizeof text, "#\t%p\t", key.stack[i]), text) + short_name(name_of(symbol)) + "\t" +
             symbol.file + ":" + std::to_string(symbol.line) + "\n";
    }
    out += "\n";
  }
  return out;
}

}  // namespace weft::profile
