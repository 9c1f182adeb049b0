// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Requests of RESP, the protocol of redis-cli, from a stream of bytes: an array of strings, or a line of words.
namespace resp {

struct Limits {
  std::size_t arguments = 1024;
  std::size_t bulk = 8 << 20;      // one string
  std::size_t request = 16 << 20;  // all strings of one request
  std::size_t line = 64 * 1024;
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
  const char* error() const { return error_; }

  // The next whole request, the same for every way of cutting the input into pieces; nothing comes after `broken`.
  Result next(std::vector<std::string>& arguments) {
    while (state_ != State::broken && (state_ == State::bulk ? take_bulk() : take_line())) {
      if (state_ != State::done) continue;
      state_ = State::start;
      std::swap(arguments, arguments_);
      return Result::request;
    }
    return state_ == State::broken ? Result::broken : Result::incomplete;
  }

 private:
  enum class State { start, bulk_size, bulk, done, broken };

  bool fail(const char* why) {
    error_ = why;
    state_ = State::broken;
    return false;
  }

  // Whether a line is too long does not depend on how much of it is there.
  bool take_line() {
    scanned_ = std::max(scanned_, at_);
    const std::size_t end = input_.find('\n', scanned_);
    if (end == std::string::npos) {
      scanned_ = input_.size();
      return input_.size() - at_ > limits_.line + 1 ? fail("too big inline request") : false;
    }
    const std::size_t size = end - at_;  // with the CR
    if (size > limits_.line + 1) return fail("too big inline request");
    if (size == 0 || input_[end - 1] != '\r') return fail("a line does not end with CR LF");
    const std::string_view line = std::string_view(input_).substr(at_, size - 1);
    at_ = scanned_ = end + 1;
    if (state_ == State::bulk_size) return take_bulk_size(line);
    arguments_.clear();
    size_ = 0;
    return line.starts_with('*') ? take_count(line) : take_words(line);
  }

  bool take_number(std::string_view digits, std::size_t limit, std::size_t& value) {
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() || value > limit)
      return fail("invalid length");
    return true;
  }

  bool take_count(std::string_view line) {
    if (!take_number(line.substr(1), limits_.arguments, missing_)) return false;
    state_ = missing_ > 0 ? State::bulk_size : State::done;
    return true;
  }

  bool take_bulk_size(std::string_view line) {
    if (line.empty() || line.front() != '$') return fail("expected '$'");
    if (!take_number(line.substr(1), limits_.bulk, length_)) return false;
    size_ += length_;
    if (size_ > limits_.request) return fail("too big request");
    state_ = State::bulk;
    return true;
  }

  bool take_bulk() {
    const std::size_t there = input_.size() - at_;
    if (there > length_ && input_[at_ + length_] != '\r') return fail("a string is longer than it says");
    if (there < length_ + 2) return false;
    if (input_[at_ + length_ + 1] != '\n') return fail("a string is longer than it says");
    arguments_.emplace_back(input_, at_, length_);
    at_ += length_ + 2;
    state_ = --missing_ > 0 ? State::bulk_size : State::done;
    return true;
  }

  bool take_words(std::string_view line) {
    while (!line.empty()) {
      const std::size_t end = std::min(line.find(' '), line.size());
      if (end > 0) {
        if (arguments_.size() == limits_.arguments) return fail("too many words");
        arguments_.emplace_back(line.substr(0, end));
      }
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    state_ = State::done;
    return true;
  }

  Limits limits_;
  std::string input_;
  std::size_t at_ = 0, scanned_ = 0;  // taken so far; no LF between the two
  State state_ = State::start;
  std::vector<std::string> arguments_;
  std::size_t missing_ = 0, length_ = 0, size_ = 0;  // strings still to come, the current one's length, all so far
  const char* error_ = "";
};

}  // namespace resp
