// SPDX-License-Identifier: MIT
#pragma once
#include <weft/net.h>

#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "request_parser.h"
#include "resources.h"
#include "response.h"
#include "server.h"

// One client: reads requests, sends answers, and does not wait for it longer than the settings say. Socket is net::conn,
// or tls::conn for HTTPS.
namespace http {

template <class Socket>
class Connection {
 public:
  Connection(Server& server, Socket socket) : server_(server), socket_(std::move(socket)) {}

  void serve() {
    if (!shake_hands() || !answer_all()) return;
    // Closing with bytes unread would reset the connection, and the client might never see what was said last.
    std::error_code error;
    try {
      socket_.close_write();
    } catch (const std::system_error&) {
      return;  // the client has gone
    }
    socket_.set_read_deadline(Clock::now() + std::chrono::seconds(1));
    for (std::size_t drained = 0; drained < (1u << 20);) {
      const std::size_t size = socket_.read(server_.ending, bytes(), error);
      if (size == 0) break;
      drained += size;
    }
  }

 private:
  enum class Phase { idle, head, body };
  using Clock = std::chrono::steady_clock;

  // HTTPS: as long as a request may take. A client that is no TLS client, or trusts nobody, counts as refused.
  bool shake_hands() {
    if constexpr (requires(std::error_code& error) { socket_.handshake(server_.ending, error); }) {
      std::error_code error;
      socket_.set_deadline(Clock::now() + server_.settings.slow);
      socket_.handshake(server_.ending, error);
      socket_.set_deadline(Clock::time_point::max());
      if (error) server_.refused.fetch_add(1, std::memory_order_relaxed);
      return !error;
    }
    return true;
  }

  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(buffer_)); }

  // True: the last answer has been sent, the client may not know it yet. False: there is nobody to talk to.
  bool answer_all() {
    Request request;
    for (;;) {
      RequestParser::Result result;
      while ((result = parser_.next(request)) == RequestParser::Result::request) {
        server_.requests.fetch_add(1, std::memory_order_relaxed);
        Response response = handle(server_, request);
        const bool keep = request.keep_alive && !server_.stopping.cancelled();
        if (!answer(request, response, keep)) return false;
        if (!keep) return flush();
        phase_.reset();
      }
      if (result == RequestParser::Result::broken) return refuse(parser_.status(), parser_.reason());
      if (parser_.take_expectation()) out_ += "HTTP/1.1 100 Continue\r\n\r\n";
      if (!flush()) return false;

      if (!parser_.started() && server_.stopping.cancelled()) return true;
      set_deadline(!parser_.started() ? Phase::idle : !parser_.in_body() ? Phase::head : Phase::body);
      std::error_code error;
      const std::size_t size = socket_.read(parser_.started() ? server_.ending : server_.stopping, bytes(), error);
      if (size == 0) {
        if (error == std::errc::timed_out && parser_.started()) return refuse(408, "the request took too long");
        return server_.stopping.cancelled() && !parser_.started();
      }
      parser_.feed({buffer_.data(), size});
    }
  }

  // One deadline for each part of a request, however slowly its bytes drip in.
  void set_deadline(Phase phase) {
    if (phase_ == phase) return;
    phase_ = phase;
    const auto now = Clock::now();
    const auto limit = phase == Phase::idle ? server_.settings.idle : server_.settings.slow;
    // An idle connection's is moved only when a quarter of it has gone: a busy one need not set a clock for each request.
    if (phase == Phase::idle && deadline_ > now + limit * 3 / 4 && deadline_ <= now + limit) return;
    deadline_ = now + limit;
    socket_.set_read_deadline(deadline_);
  }

  bool refuse(int status, std::string_view why) {
    server_.refused.fetch_add(1, std::memory_order_relaxed);
    Response response = refusal(status, why);
    return answer({}, response, false) && flush();
  }

  bool answer(const Request& request, Response& response, bool keep) {
    const bool chunked = response.lines && request.minor >= 1;
    if (response.lines && !chunked) keep = false;
    out_ += "HTTP/1.1 ";
    out_ += std::to_string(response.status);
    out_ += ' ';
    out_ += phrase(response.status);
    out_ += "\r\nServer: weft\r\nDate: ";
    out_ += date();
    out_ += "\r\nContent-Type: ";
    out_ += response.type;
    if (!response.allow.empty()) (out_ += "\r\nAllow: ") += response.allow;
    if (chunked) {
      out_ += "\r\nTransfer-Encoding: chunked";
    } else if (!response.lines) {
      (out_ += "\r\nContent-Length: ") += std::to_string(response.file ? response.file_size : response.body.size());
    }
    if (!keep) {
      out_ += "\r\nConnection: close";
    } else if (request.minor == 0) {
      out_ += "\r\nConnection: keep-alive";
    }
    out_ += "\r\n\r\n";
    if (request.method == "HEAD") return true;
    if (response.lines) return write_lines(*response.lines, chunked);
    if (response.file) return write_file(response);
    out_ += response.body;
    return out_.size() < 65536 || flush();  // who sends many requests and reads no answers is waited for
  }

  bool write_lines(long count, bool chunked) {
    std::string piece;
    for (long line = 1; line <= count; ++line) {
      piece += "line " + std::to_string(line) + "\n";
      if (piece.size() < 4096 && line != count) continue;
      if (chunked) {
        std::array<char, 16> size;
        const auto end = std::to_chars(size.begin(), size.end(), piece.size(), 16).ptr;
        out_.append(size.begin(), end).append("\r\n").append(piece).append("\r\n");
      } else {
        out_ += piece;
      }
      piece.clear();
      if (!flush()) return false;
    }
    if (chunked) out_ += "0\r\n\r\n";
    return chunked || flush();
  }

  bool write_file(const Response& response) {
    if (!flush()) return false;
    std::error_code error;
    for (std::uint64_t at = 0; at < response.file_size;) {
      set_write_deadline();
      const std::uint64_t piece = std::min<std::uint64_t>(response.file_size - at, 256 * 1024);
      const std::uint64_t sent = socket_.send_file(server_.ending, response.file.native_handle(), at, piece, error);
      if (error || sent == 0) return false;  // it has shrunk: only the missing end can tell the client
      at += sent;
    }
    return true;
  }

  void set_write_deadline() {
    const auto now = Clock::now();
    if (write_deadline_ > now + server_.settings.unread * 3 / 4) return;
    write_deadline_ = now + server_.settings.unread;
    socket_.set_write_deadline(write_deadline_);
  }

  bool flush() {
    if (out_.empty()) return true;
    std::error_code error;
    set_write_deadline();
    socket_.write_all(server_.ending, std::as_bytes(std::span(out_)), error);
    out_.clear();
    return !error;
  }

  std::string_view date() {
    const std::time_t now = std::time(nullptr);
    if (now != date_of_) {
      std::tm parts;
      gmtime_r(&now, &parts);
      std::strftime(date_.data(), date_.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
      date_of_ = now;
    }
    return date_.data();
  }

  Server& server_;
  Socket socket_;
  RequestParser parser_;
  std::string out_;
  std::optional<Phase> phase_;
  Clock::time_point deadline_{}, write_deadline_{};
  std::time_t date_of_ = 0;
  std::array<char, 32> date_{};
  std::array<char, 8192> buffer_;
};

}  // namespace http
