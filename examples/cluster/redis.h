// SPDX-License-Identifier: MIT
#pragma once
#include <weft/net.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// A client of Redis: one connection, one command at a time or several in a row.
namespace cluster {

struct Reply {
  enum class Kind { nothing, text, number, list } kind = Kind::nothing;
  std::string text{};
  std::int64_t number = 0;
  std::vector<Reply> items{};
};

class Redis {
 public:
  using Command = std::vector<std::string>;

  explicit Redis(const std::string& address)
      : connection_(weft::net::dial("tcp", address, std::chrono::seconds(10))), reader_(connection_) {}

  Reply call(const Command& command) { return call_all({command}).front(); }
  // Sends all commands at once. Throws std::runtime_error for the first answer that is an error.
  std::vector<Reply> call_all(const std::vector<Command>& commands) {
    std::string bytes;
    for (const Command& command : commands) {
      bytes += "*" + std::to_string(command.size()) + "\r\n";
      for (const std::string& word : command) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    connection_.write(bytes);
    std::vector<Reply> replies;
    for (std::size_t i = 0; i < commands.size(); ++i) replies.push_back(read_reply(0));
    if (!error_.empty()) throw std::runtime_error("redis: " + std::exchange(error_, {}));
    return replies;
  }
  void close() { connection_.close(); }

 private:
  std::string_view line() {
    const auto got = reader_.read_line();
    if (!got || got->empty() || !reader_.ended()) throw std::runtime_error("redis: the connection has ended");
    return *got;
  }
  static std::int64_t number_of(std::string_view text) {
    std::int64_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
      throw std::runtime_error("redis: no number: " + std::string(text));
    return value;
  }

  Reply read_reply(int depth) {
    const std::string head(line());
    const std::string rest = head.substr(1);
    if (head[0] == '+') return {Reply::Kind::text, rest};
    if (head[0] == ':') return {Reply::Kind::number, rest, number_of(rest)};
    if (head[0] == '-') {
      if (error_.empty()) error_ = rest;
      return {};
    }
    const std::int64_t size = number_of(rest);
    if (head[0] == '$') return read_text(size);
    if (head[0] != '*' || depth > 16 || size > 1'000'000) throw std::runtime_error("redis: unknown answer " + head);
    Reply list{size < 0 ? Reply::Kind::nothing : Reply::Kind::list};
    for (std::int64_t i = 0; i < size; ++i) list.items.push_back(read_reply(depth + 1));
    return list;
  }
  Reply read_text(std::int64_t size) {
    if (size < 0) return {};
    if (size > 512 << 20) throw std::runtime_error("redis: an answer of " + std::to_string(size) + " bytes");
    Reply reply{Reply::Kind::text, std::string(static_cast<std::size_t>(size) + 2, ' ')};
    reader_.read_exact(reply.text);
    reply.text.resize(static_cast<std::size_t>(size));
    return reply;
  }

  weft::net::conn connection_;
  weft::net::reader reader_;
  std::string error_;
};

}  // namespace cluster
