// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Requests of HTTP/1.1 (RFC 9112) from a stream of bytes. Strict: what two readers could understand in two ways is refused, so
// that nobody in front of this server can be led to see other requests than it sees.
namespace http {

inline bool same_word(std::string_view one, std::string_view other) {  // ASCII, whatever the case
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
    return lower(a) == lower(b);
  });
}

struct Request {
  std::string method, target, body;
  int minor = 1;  // of HTTP/1.x
  bool keep_alive = true;
  std::vector<std::pair<std::string, std::string>> fields;

  // The first of that name; null: there is none.
  const std::string* field(std::string_view name) const {
    for (const auto& [key, value] : fields)
      if (same_word(key, name)) return &value;
    return nullptr;
  }
};

struct Limits {
  std::size_t request_line = 8192;  // longer: 414
  std::size_t head = 16384;         // all fields, trailers too: 431
  std::size_t fields = 100;         // 431
  std::size_t body = 1 << 20;       // 413
};

class RequestParser {
 public:
  enum class Result { request, incomplete, broken };

  explicit RequestParser(const Limits& limits = {}) : limits_(limits) {}

  void feed(std::string_view bytes) {
    if (at_ == input_.size()) {
      input_.clear();
      at_ = scanned_ = 0;
    } else if (at_ > 65536) {
      input_.erase(0, at_);
      scanned_ -= at_;
      at_ = 0;
    }
    input_.append(bytes);
  }

  // The next whole request, the same for every way of cutting the input into pieces. Nothing comes after `broken`: the answer
  // is status(), then the connection must be closed.
  Result next(Request& request) {
    while (state_ != State::broken) {
      const bool go_on = state_ == State::body || state_ == State::chunk ? take_body() : take_line();
      if (!go_on) break;
      if (state_ == State::done) {
        state_ = State::request_line;
        std::swap(request, request_);
        return Result::request;
      }
    }
    return state_ == State::broken ? Result::broken : Result::incomplete;
  }

  int status() const { return status_; }
  const char* reason() const { return reason_; }
  // Has a part of the next request arrived?
  bool started() const { return state_ != State::request_line || at_ != input_.size(); }
  bool in_body() const { return state_ > State::fields && state_ != State::broken; }
  // The client waits to be told that its body is welcome. True once.
  bool take_expectation() { return std::exchange(expects_, false) && in_body() && at_ == input_.size(); }

 private:
  enum class State { request_line, fields, body, chunk_size, chunk, chunk_end, trailers, done, broken };
  static constexpr std::size_t kLongestMethod = 32, kLongestChunkLine = 256;

  bool fail(int status, const char* why) {
    status_ = status;
    reason_ = why;
    state_ = State::broken;
    return false;
  }

  // --- lines ---

  std::size_t line_limit() const {
    switch (state_) {
      case State::request_line: return limits_.request_line;
      case State::chunk_size:   return kLongestChunkLine;
      case State::chunk_end:    return 0;
      default:                  return limits_.head - std::min(limits_.head, head_size_);
    }
  }

  bool refuse_length() {
    switch (state_) {
      case State::request_line: return fail(414, "the request line is too long");
      case State::chunk_size:   return fail(400, "the line of a chunk's size is too long");
      case State::chunk_end:    return fail(400, "a chunk is longer than it says");
      default:                  return fail(431, "the fields are too long");
    }
  }

  // A line ends with CR LF, nothing else; whether it is too long does not depend on how much of it is there.
  bool take_line() {
    const std::size_t limit = line_limit();
    scanned_ = std::max(scanned_, at_);
    const std::size_t end = input_.find('\n', scanned_);
    if (end == std::string::npos) {
      scanned_ = input_.size();
      return input_.size() - at_ > limit + 1 ? refuse_length() : false;
    }
    const std::size_t size = end - at_;  // with the CR
    if (size > limit + 1) return refuse_length();
    if (size == 0 || input_[end - 1] != '\r') return fail(400, "a line does not end with CR LF");
    const std::string_view line = std::string_view(input_).substr(at_, size - 1);
    at_ = scanned_ = end + 1;
    switch (state_) {
      case State::request_line: return take_request_line(line);
      case State::fields:       return take_field(line);
      case State::chunk_size:   return take_chunk_size(line);
      case State::chunk_end:    state_ = State::chunk_size; return true;  // of length 0 by its limit
      default:                  return take_trailer(line);
    }
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_visible(char c) { return c > ' ' && c < 0x7f; }
  static bool is_token(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
           (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
  }
  static bool is_token(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return is_token(c); });
  }
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  static std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
  }

  bool take_request_line(std::string_view line) {
    if (line.empty()) {  // one before a request is forgiven: old clients send it after a body
      if (std::exchange(blank_seen_, true)) return fail(400, "empty lines instead of a request");
      return true;
    }
    const std::size_t first = line.find(' '), last = line.rfind(' ');
    if (first == std::string_view::npos || first == last) return fail(400, "the request line has not three parts");
    const std::string_view method = line.substr(0, first), target = line.substr(first + 1, last - first - 1),
                           version = line.substr(last + 1);
    if (!is_token(method)) return fail(400, "the method is no word");
    if (target.empty() || !std::all_of(target.begin(), target.end(), [](char c) { return is_visible(c); }))
      return fail(400, "the target is empty or has characters that must be encoded");
    if (version.size() != 8 || !version.starts_with("HTTP/") || !is_digit(version[5]) || version[6] != '.' ||
        !is_digit(version[7]))
      return fail(400, "the version is not HTTP/x.y");
    if (version[5] != '1') return fail(505, "only HTTP/1 is spoken here");
    if (method.size() > kLongestMethod) return fail(501, "the method is unknown");
    request_.method = method;
    request_.target = target;
    request_.minor = version[7] - '0';
    request_.keep_alive = request_.minor >= 1;
    request_.body.clear();
    request_.fields.clear();
    blank_seen_ = chunked_ = expects_ = has_length_ = closes_ = false;
    hosts_ = 0;
    head_size_ = field_count_ = 0;
    length_ = 0;
    state_ = State::fields;
    return true;
  }

  bool split_field(std::string_view line, std::string_view& name, std::string_view& value) {
    head_size_ += line.size() + 2;
    if (++field_count_ > limits_.fields) return fail(431, "too many fields");
    if (is_blank(line.front())) return fail(400, "a field is folded over lines");
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return fail(400, "a field without a colon");
    name = line.substr(0, colon);
    value = trimmed(line.substr(colon + 1));
    if (!is_token(name)) return fail(400, "the name of a field is no word");
    for (const char c : value)
      if ((static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f)
        return fail(400, "a field has a control character");
    return true;
  }

  bool take_field(std::string_view line) {
    if (line.empty()) return end_fields();
    std::string_view name, value;
    if (!split_field(line, name, value)) return false;
    request_.fields.emplace_back(name, value);
    switch (name.size()) {  // few names matter here, and their lengths differ
      case 4:  return same_word(name, "host") ? take_host(value) : true;
      case 6:  return same_word(name, "expect") ? take_expect(value) : true;
      case 10: return same_word(name, "connection") ? take_connection(value) : true;
      case 14: return same_word(name, "content-length") ? take_length(value) : true;
      case 17: return same_word(name, "transfer-encoding") ? take_coding(value) : true;
      default: return true;
    }
  }

  bool take_trailer(std::string_view line) {  // must be right, and is not kept: nobody here needs one
    if (line.empty()) {
      state_ = State::done;
      return true;
    }
    std::string_view name, value;
    return split_field(line, name, value);
  }

  bool take_host(std::string_view value) {
    if (++hosts_ > 1) return fail(400, "two Host fields");
    for (const char c : value)
      if (!is_visible(c) || std::string_view("/\\@?#,\"<>").find(c) != std::string_view::npos)
        return fail(400, "Host is not a host");
    return true;
  }

  bool take_expect(std::string_view value) {
    if (!same_word(value, "100-continue")) return fail(417, "an expectation that is not 100-continue");
    expects_ = request_.minor >= 1;
    return true;
  }

  template <class Function>
  static bool for_each_word(std::string_view list, Function function) {
    for (;;) {
      const std::size_t comma = std::min(list.find(','), list.size());
      if (!function(trimmed(list.substr(0, comma)))) return false;
      if (comma == list.size()) return true;
      list.remove_prefix(comma + 1);
    }
  }

  bool take_connection(std::string_view value) {
    return for_each_word(value, [&](std::string_view word) {
      if (same_word(word, "close")) {
        request_.keep_alive = false;
        closes_ = true;
      } else if (same_word(word, "keep-alive") && !closes_) {
        request_.keep_alive = true;
      }
      return true;
    });
  }

  bool take_length(std::string_view value) {
    if (std::exchange(has_length_, true)) return fail(400, "two Content-Length fields");
    if (value.empty() || !std::all_of(value.begin(), value.end(), [](char c) { return is_digit(c); }))
      return fail(400, "Content-Length is no number");
    for (const char c : value) {
      length_ = length_ * 10 + static_cast<std::uint64_t>(c - '0');
      if (length_ > limits_.body) length_ = limits_.body + 1;  // no overflow, however long
    }
    return true;
  }

  bool take_coding(std::string_view value) {
    return for_each_word(value, [&](std::string_view word) {
      if (chunked_) return fail(400, "a transfer coding after chunked");
      if (word.empty()) return fail(400, "Transfer-Encoding is not a list");
      if (!same_word(word, "chunked")) return fail(501, "a transfer coding other than chunked");
      chunked_ = true;
      return true;
    });
  }

  bool end_fields() {
    if (hosts_ == 0 && request_.minor >= 1) return fail(400, "no Host field");
    if (chunked_ && has_length_) return fail(400, "both Content-Length and Transfer-Encoding");
    if (chunked_ && request_.minor == 0) return fail(400, "Transfer-Encoding in HTTP/1.0");
    if (length_ > limits_.body) return fail(413, "the body is too large");
    state_ = chunked_ ? State::chunk_size : length_ > 0 ? State::body : State::done;
    if (state_ == State::done) expects_ = false;
    return true;
  }

  // --- bodies ---

  // The extension of a chunk is checked for characters and thrown away.
  bool take_chunk_size(std::string_view line) {
    std::size_t digits = 0;
    expects_ = false;
    length_ = 0;
    for (; digits < line.size(); ++digits) {
      const char c = line[digits];
      const int value = is_digit(c)            ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (value < 0) break;
      length_ = length_ * 16 + static_cast<std::uint64_t>(value);
      if (length_ > limits_.body) length_ = limits_.body + 1;
    }
    const std::string_view rest = line.substr(digits);
    if (digits == 0 || (!rest.empty() && rest.front() != ';')) return fail(400, "the size of a chunk is no number");
    if (!std::all_of(rest.begin(), rest.end(), [](char c) { return is_visible(c) || is_blank(c); }))
      return fail(400, "a chunk's extension has a control character");
    if (length_ > limits_.body - request_.body.size()) return fail(413, "the body is too large");
    state_ = length_ > 0 ? State::chunk : State::trailers;
    return true;
  }

  bool take_body() {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(length_, input_.size() - at_));
    if (size > 0) expects_ = false;  // it did not wait
    request_.body.append(input_, at_, size);
    at_ += size;
    length_ -= size;
    if (length_ > 0) return false;
    state_ = state_ == State::chunk ? State::chunk_end : State::done;
    return true;
  }

  Limits limits_;
  std::string input_;
  std::size_t at_ = 0, scanned_ = 0;  // taken so far; no LF between the two
  State state_ = State::request_line;
  Request request_;
  bool blank_seen_ = false, chunked_ = false, expects_ = false, has_length_ = false, closes_ = false;
  int hosts_ = 0, status_ = 0;
  std::size_t head_size_ = 0, field_count_ = 0;
  std::uint64_t length_ = 0;  // of the body or chunk still to come
  const char* reason_ = "";
};

}  // namespace http
