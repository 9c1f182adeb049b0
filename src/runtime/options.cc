// SPDX-License-Identifier: MIT
#include "runtime/options.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <limits>
#include <system_error>

#include "runtime/variable_names.h"

namespace weft::runtime {
namespace {

constexpr std::size_t kShownCharacters = 60;

// Length of the valid UTF-8 sequence of printable text at the front, or 0.
std::size_t printable_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
  if (length == 0 || first >= 0xf8 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
  // Controls, line separators and the marks that change the writing direction would garble the message.
  if (code < 0xa0 || code == 0xfeff || (code >= 0x200b && code <= 0x200f) ||
      (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)) {
    return 0;
  }
  return length;
}

std::string escape_byte(char c) {
  switch (c) {
    case '\n': return "\\n";
    case '\t': return "\\t";
    case '\r': return "\\r";
    default:   break;
  }
  constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

std::optional<std::uint64_t> parse_decimal(std::string_view text) {
  std::uint64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] =
      std::from_chars(text.data(), last, value);  // for unsigned: digits only, no sign, no space
  if (text.empty() || error != std::errc() || end != last) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_decimal(std::string_view text, std::uint64_t low, std::uint64_t high) {
  const auto value = parse_decimal(text);
  if (!value || *value < low || *value > high) return std::nullopt;
  return value;
}

std::optional<std::size_t> parse_size(std::string_view text) {
  constexpr std::uint64_t kSmallest = std::uint64_t{16} << 10;
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 30;
  std::uint64_t unit = 1;
  if (!text.empty() && (text.back() == 'K' || text.back() == 'M')) {
    unit = text.back() == 'K' ? std::uint64_t{1} << 10 : std::uint64_t{1} << 20;
    text.remove_suffix(1);
  }
  const auto value = parse_decimal(text, 1, kLargest);
  if (!value || *value > kLargest / unit || *value * unit < kSmallest) return std::nullopt;
  return static_cast<std::size_t>(*value * unit);
}

class Parser {
 public:
  explicit Parser(const Lookup& lookup) : lookup_(lookup) {}

  Parsed parse() {
    Settings& out = parsed_.settings;
    read_number("WEFT_MAXPROCS", 1, 1024, "", out.maxprocs);
    read("WEFT_POLICY", "one of classic, global, batch, matrix", out.policy,
         [](std::string_view text) -> std::optional<PolicyName> {
           if (text == "classic") return PolicyName::kClassic;
           if (text == "global") return PolicyName::kGlobal;
           if (text == "batch") return PolicyName::kBatch;
           if (text == "matrix") return PolicyName::kMatrix;
           return std::nullopt;
         });
    std::optional<bool> kroc;
    read("WEFT_BATCH", "kroc or own", kroc, [](std::string_view text) -> std::optional<bool> {
      if (text == "kroc") return true;
      if (text == "own") return false;
      return std::nullopt;
    });
    out.kroc_batches = kroc.value_or(false);
    read("WEFT_STACK_SIZE",
         "a number of bytes from 16K to 1024M, written in base 10 with an optional suffix K or M",
         out.stack_size, parse_size);
    read("WEFT_PREEMPT", "on or off", out.preempt, [](std::string_view text) -> std::optional<bool> {
      if (text == "on") return true;
      if (text == "off") return false;
      return std::nullopt;
    });
    read_number("WEFT_PREEMPT_SIGNAL", 1, 64, "", out.preempt_signal);
    read_number("WEFT_SLICE", 1, 10'000, " of milliseconds", out.slice_ms);
    read_number("WEFT_SCHEDTRACE", 1, 3'600'000, " of milliseconds", out.schedtrace_ms);
    const auto parse_path = [](std::string_view text) -> std::optional<std::string> {
      if (text.empty() || text.size() >= PATH_MAX) return std::nullopt;
      return std::string(text);
    };
    read("WEFT_TRACE", "the path of a file to write, of 1 to 4095 bytes", out.trace_path, parse_path);
    read("WEFT_CPUPROFILE", "the path of a file to write, of 1 to 4095 bytes", out.cpu_profile_path, parse_path);
    read("WEFT_DEBUG_ADDR", "an address HOST:PORT, such as 127.0.0.1:6060", out.debug_address,
         [](std::string_view text) -> std::optional<std::string> {
           if (text.find(':') == std::string_view::npos || text.size() > 100) return std::nullopt;
           return std::string(text);
         });
    if (const char* token = look_up("WEFT_DEBUG_TOKEN")) out.debug_token = token;
    read("WEFT_DEADLOCK", "report or fatal", out.deadlock,
         [](std::string_view text) -> std::optional<PartialDeadlock> {
           if (text == "report") return PartialDeadlock::kReport;
           if (text == "fatal") return PartialDeadlock::kFatal;
           return std::nullopt;
         });
    read_number("WEFT_DUMP_SIGNAL", 1, 64, "", out.dump_signal);
    read("WEFT_LEAKS", "report or fail", out.leaks, [](std::string_view text) -> std::optional<LeakCheck> {
      if (text == "report") return LeakCheck::kReport;
      if (text == "fail") return LeakCheck::kFail;
      return std::nullopt;
    });
    read_number("WEFT_MAX_THREADS", 4, 1'000'000, "", out.max_threads);
    read("WEFT_LOCKED_FALLBACK", "off, or a number from 1 to 1000000, written in base 10", out.locked_fallback,
         [](std::string_view text) -> std::optional<std::optional<std::uint32_t>> {
           if (text == "off") return std::optional<std::uint32_t>();
           const auto value = parse_decimal(text, 1, 1'000'000);
           if (!value) return std::nullopt;
           return static_cast<std::uint32_t>(*value);
         });
    read_debug();
    return std::move(parsed_);
  }
  // The names that parse() has looked up: the variables that this runtime has.
  const std::vector<std::string_view>& known() const { return known_; }

 private:
  const char* look_up(const char* name) {
    known_.push_back(name);
    return lookup_(name);
  }

  // Stores convert(value) in `out`; the first value that cannot be used becomes the error.
  template <class T, class Convert>
  void read(const char* name, const std::string& accepted, std::optional<T>& out, Convert convert) {
    const char* const value = look_up(name);
    if (value == nullptr || !parsed_.ok()) return;
    out = convert(std::string_view(value));
    if (!out) fail(name, value, accepted);
  }

  void read_number(const char* name, int low, int high, const char* unit, std::optional<int>& out) {
    const std::string accepted = "a number" + std::string(unit) + " from " + std::to_string(low) + " to " +
                                 std::to_string(high) + ", written in base 10";
    read(name, accepted, out, [&](std::string_view text) -> std::optional<int> {
      const auto value =
          parse_decimal(text, static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high));
      if (!value) return std::nullopt;
      return static_cast<int>(*value);
    });
  }

  void read_debug() {
    const char* const value = look_up("WEFT_DEBUG");
    if (value == nullptr) return;
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      read_debug_item(rest.substr(0, comma));
      rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    }
  }

  void read_debug_item(std::string_view item) {
    if (item.empty()) return;  // "a,,b" and a trailing comma are harmless
    const std::size_t equals = item.find('=');
    const std::string_view key = item.substr(0, equals);
    std::optional<std::string_view> text;
    if (equals != std::string_view::npos) text = item.substr(equals + 1);
    DebugSettings& debug = parsed_.settings.debug;
    if (key == "randsched") {
      read_seeded(key, text, debug.randsched);
    } else if (key == "starve") {
      read_seeded(key, text, debug.starve);
    } else if (key == "buggify") {
      if (const auto seed = debug_number(key, text, std::numeric_limits<std::uint64_t>::max()))
        debug.buggify = *seed;
    } else if (key == "spin_us") {
      if (const auto us = debug_number(key, text, 1'000'000)) debug.spin_us = static_cast<unsigned>(*us);
    } else if (key == "ladder") {
      if (const auto step = debug_number(key, text, 5)) debug.ladder = static_cast<unsigned>(*step);
    } else if (key == "search_order") {
      read_choice(key, text, "go127", "seed", debug.seed_search_order);
    } else if (key == "spawn_place") {
      read_choice(key, text, "next", "back", debug.spawn_at_back);
    } else if (key == "wake_place") {
      read_choice(key, text, "here", "last", debug.wake_on_last_p);
    } else if (key == "early_timers") {
      read_choice(key, text, "off", "on", debug.early_timers);
    } else if (key == "leases") {
      read_choice(key, text, "off", "always", debug.leases);
    } else if (key == "retreats") {
      read_choice(key, text, "off", "always", debug.retreats);
    } else if (key == "preempt" && !text) {
      debug.preempt = true;
    } else {
      parsed_.warnings.push_back(
          "weft: WEFT_DEBUG: unknown key " + quote_for_message(key) +
          " ignored; known are randsched[=seed], starve[=seed], buggify=seed, spin_us=microseconds, preempt, ladder=step, "
          "search_order=go127|seed, spawn_place=next|back, wake_place=here|last, early_timers=off|on, leases=off|always, "
          "retreats=off|always");
    }
  }

  void read_seeded(std::string_view key, std::optional<std::string_view> text, Seeded& out) {
    if (!text) {
      out = {true, std::nullopt};
    } else if (const auto seed = debug_number(key, text, std::numeric_limits<std::uint64_t>::max())) {
      out = {true, *seed};
    }
  }

  // Accepts the usual value or the other one; true: the other one.
  void read_choice(std::string_view key, std::optional<std::string_view> text, std::string_view usual,
                   std::string_view other, std::optional<bool>& out) {
    if (text == usual || text == other) {
      out = text == other;
    } else {
      fail("WEFT_DEBUG: " + std::string(key), text.value_or(""), std::string(usual) + " or " + std::string(other));
    }
  }

  std::optional<std::uint64_t> debug_number(std::string_view key, std::optional<std::string_view> text,
                                            std::uint64_t high) {
    const std::string accepted = "a number from 0 to " + std::to_string(high) + ", written in base 10";
    if (!text) {
      parsed_.warnings.push_back("weft: WEFT_DEBUG: key " + quote_for_message(key) +
                                 " ignored, it has no value; accepted: " + std::string(key) + "=" + accepted);
      return std::nullopt;
    }
    const auto value = parse_decimal(*text, 0, high);
    if (!value) fail("WEFT_DEBUG: " + std::string(key), *text, accepted);
    return value;
  }

  void fail(const std::string& name, std::string_view value, const std::string& accepted) {
    if (parsed_.ok())
      parsed_.error =
          "weft: " + name + "=" + quote_for_message(value) + " cannot be used; accepted: " + accepted;
  }

  const Lookup& lookup_;
  std::vector<std::string_view> known_;
  Parsed parsed_;
};

// One line in one write(2), so that lines of several processes do not mix.
void print_line(std::string line) noexcept {
  line += '\n';
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    done += static_cast<std::size_t>(written);
  }
}

}  // namespace

std::string quote_for_message(std::string_view value) {
  std::string out = "\"";
  std::size_t shown = 0;
  std::string_view rest = value;
  while (!rest.empty()) {
    std::size_t length = printable_sequence(rest);
    std::string piece(rest.substr(0, length));
    std::size_t width = 1;
    if (length == 0) {
      piece = escape_byte(rest.front());
      width = piece.size();
      length = 1;
    } else if (piece == "\"" || piece == "\\") {
      piece.insert(0, 1, '\\');
      width = 2;
    }
    if (shown + width > kShownCharacters) return out + "\"... (" + std::to_string(value.size()) + " bytes)";
    out += piece;
    shown += width;
    rest.remove_prefix(length);
  }
  return out + "\"";
}

Parsed parse_environment(const Lookup& lookup, const std::vector<std::string>& names) {
  Parser parser(lookup);
  Parsed parsed = parser.parse();
  for (const std::string& name : names) {
    if (is_known_name(name, parser.known())) continue;
    parsed.warnings.push_back("weft: unknown variable " + quote_for_message(name) + " ignored; the nearest name is " +
                              std::string(nearest_name(name, parser.known())));
  }
  return parsed;
}

Settings settings_from_environment_or_exit() {
  const auto get = [](const char* name) -> const char* { return secure_getenv(name); };
  std::vector<std::string> names;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry = *each;
    std::string name(entry.substr(0, entry.find('=')));
    if (name.starts_with("WEFT_") && get(name.c_str()) != nullptr) names.push_back(std::move(name));
  }
  Parsed parsed = parse_environment(get, names);
  for (std::string& warning : parsed.warnings) print_line(std::move(warning));
  if (!parsed.ok()) {
    print_line(std::move(parsed.error));
    _exit(2);
  }
  return std::move(parsed.settings);
}

}  // namespace weft::runtime
