// SPDX-License-Identifier: MIT
// An HTTP/1.1 server: one goroutine for each connection, blocking code; keep-alive, pipelining, chunked bodies in both directions,
// limits on everything a client may send, time-outs against slow ones, and a graceful end on SIGTERM or SIGINT.
//   http_server [OPTION...] [ADDRESS]    serves on it (default 127.0.0.1:8080); try `wrk -t1 -c64 http://127.0.0.1:8080/plaintext`
//     --root DIR         what is below it is served as /files/...
//     --idle MS          how long a connection may wait for its next request (60000)
//     --slow MS          how long a request may take to arrive, head and body each (10000): then 408
//     --unread MS        how long a client may leave answers unread (30000)
//     --grace MS         how long requests under way may take after SIGTERM (10000)
//     --connections N    how many at a time (10000); more wait to be accepted
//   http_server --self-test              talks to itself, then ends
// check: run --self-test
// check: stdout ^self-test passed$
// check: stdout ^requests: [0-9]+, of them refused: [1-9]
#include <weft/io.h>
#include <weft/net.h>
#include <weft/weft.h>

#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "http/request_parser.h"

namespace net = weft::net;
namespace io = weft::io;

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct Settings {
  std::string address = "127.0.0.1:8080", root;
  milliseconds idle = 60s, slow = 10s, grace = 10s, unread = 30s;
  long connections = 10000;
};

struct Server {
  Settings settings;
  weft::context stopping = weft::context::background();  // no further requests
  weft::context ending = weft::context::background();    // nothing further at all
  std::atomic<long> requests{0}, refused{0};
};

// --- answers ---

const char* phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 417: return "Expectation Failed";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default:  return "Unknown";
  }
}

struct Response {
  int status = 200;
  std::string_view type = "text/plain; charset=utf-8", allow = {};
  std::string body{};
  io::file file{};  // instead of the body
  std::uint64_t file_size = 0;
  std::optional<long> lines{};  // instead of the body: so many, by chunks
};

Response refusal(int status, std::string_view why) {
  Response response;
  response.status = status;
  response.body = std::string(why) + "\n";
  return response;
}

Response not_allowed(std::string_view allow) {
  Response response = refusal(405, "this resource does not know the method");
  response.allow = allow;
  return response;
}

std::optional<long> number_after(std::string_view path, std::string_view prefix, long most) {
  if (!path.starts_with(prefix)) return std::nullopt;
  path.remove_prefix(prefix.size());
  long value = 0;
  const auto parsed = std::from_chars(path.data(), path.data() + path.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != path.data() + path.size() || value < 0 || value > most)
    return std::nullopt;
  return value;
}

// Percent signs resolved. Nullopt: not well-formed, or a path that leads out of its root.
std::optional<std::string> clean_path(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      path += text[i];
      continue;
    }
    unsigned value = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const auto parsed = std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16);
    if (parsed.ptr != &text[i + 1] + 2 || value == 0) return std::nullopt;
    path += static_cast<char>(value);
    i += 2;
  }
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view segment = std::string_view(path).substr(at, end - at);
    if (segment == ".." || segment == ".") return std::nullopt;
    at = end + 1;
  }
  return path;
}

std::string_view type_of(std::string_view path) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {{".html", "text/html; charset=utf-8"},
                                                                      {".css", "text/css"},
                                                                      {".js", "text/javascript"},
                                                                      {".png", "image/png"},
                                                                      {".json", "application/json"},
                                                                      {".svg", "image/svg+xml"},
                                                                      {".txt", "text/plain; charset=utf-8"}};
  for (const auto& [ending, type] : kTypes)
    if (path.ends_with(ending)) return type;
  return "application/octet-stream";
}

Response send_file(const Server& server, std::string_view name) {
  const auto path = clean_path(name);
  if (!path) return refusal(400, "a bad path");
  std::error_code error;
  io::file file = io::open(server.settings.root + "/" + *path, io::mode::read, 0, error);
  std::byte probe;  // a directory can be opened, not read
  if (!error) file.read_at(0, std::span(&probe, 1), error);
  if (error) return refusal(404, "no such file");
  Response response;
  response.type = type_of(*path);
  response.file_size = file.size();
  response.file = std::move(file);
  return response;
}

Response handle(const Server& server, const http::Request& request) {
  const bool get = request.method == "GET" || request.method == "HEAD";
  const bool put = request.method == "POST" || request.method == "PUT";
  if (!get && !put) {
    constexpr std::string_view kKnown[] = {"DELETE", "OPTIONS", "PATCH", "TRACE"};  // CONNECT is for proxies
    if (std::find(std::begin(kKnown), std::end(kKnown), request.method) != std::end(kKnown))
      return not_allowed("GET, HEAD, POST, PUT");
    return refusal(501, "an unknown method");
  }
  std::string_view path = request.target;
  if (const std::size_t scheme = path.find("://"); scheme != std::string_view::npos && path.front() != '/')
    path.remove_prefix(std::min(path.find('/', scheme + 3), path.size()));  // "http://host/path", as to a proxy
  path = path.substr(0, path.find('?'));
  if (!path.empty() && path.front() != '/') return refusal(400, "the target is not a path");

  Response response;
  if (path == "/echo") {
    if (!put) return not_allowed("POST, PUT");
    response.type = "application/octet-stream";
    response.body = request.body;
    return response;
  }
  if (!get) return not_allowed("GET, HEAD");
  if (path == "/" || path.empty()) {
    response.type = "text/html; charset=utf-8";
    response.body = "<!doctype html><title>weft</title><p>Served by a goroutine.\n";
  } else if (path == "/plaintext") {
    response.body = "Hello, World!";
  } else if (const auto lines = number_after(path, "/lines/", 1'000'000)) {
    response.lines = *lines;
  } else if (const auto ms = number_after(path, "/sleep/", 60'000)) {
    weft::select(weft::on_recv(server.ending.done()), weft::on_timeout(milliseconds(*ms)));
    response.body = "slept\n";
  } else if (path.starts_with("/files/") && !server.settings.root.empty()) {
    return send_file(server, path.substr(7));
  } else {
    return refusal(404, "there is no such thing");
  }
  return response;
}

// --- one connection ---

class Connection {
 public:
  Connection(Server& server, net::conn socket) : server_(server), socket_(std::move(socket)) {}

  void serve() {
    if (!answer_all()) return;
    // Closing with bytes unread would reset the connection, and the client might never see what was said last.
    std::error_code error;
    socket_.close_write();
    socket_.set_read_deadline(Clock::now() + 1s);
    for (std::size_t drained = 0; drained < (1u << 20);) {
      const std::size_t size = socket_.read(server_.ending, bytes(), error);
      if (size == 0) break;
      drained += size;
    }
  }

 private:
  enum class Phase { idle, head, body };

  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(buffer_)); }

  // True: the last answer has been sent, the client may not know it yet. False: there is nobody to talk to.
  bool answer_all() {
    http::Request request;
    for (;;) {
      http::RequestParser::Result result;
      while ((result = parser_.next(request)) == http::RequestParser::Result::request) {
        server_.requests.fetch_add(1, std::memory_order_relaxed);
        Response response = handle(server_, request);
        const bool keep = request.keep_alive && !server_.stopping.cancelled();
        if (!answer(request, response, keep)) return false;
        if (!keep) return flush();
        phase_.reset();
      }
      if (result == http::RequestParser::Result::broken) return refuse(parser_.status(), parser_.reason());
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

  bool answer(const http::Request& request, Response& response, bool keep) {
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
  net::conn socket_;
  http::RequestParser parser_;
  std::string out_;
  std::optional<Phase> phase_;
  Clock::time_point deadline_{}, write_deadline_{};
  std::time_t date_of_ = 0;
  std::array<char, 32> date_{};
  std::array<char, 8192> buffer_;
};

// --- all of them ---

void accept_all(Server& server, net::listener& listener, weft::wait_group& open) {
  weft::counting_semaphore<> room(server.settings.connections);
  while (!server.stopping.cancelled()) {
    if (!room.try_acquire_for(100ms)) continue;
    std::error_code error;
    net::conn socket = listener.accept(server.stopping, error);
    if (!socket) {
      room.release();
      if (!server.stopping.cancelled()) weft::this_goroutine::sleep_for(50ms);  // no descriptors left, say
      continue;
    }
    open.go([&server, &room, socket = std::move(socket)]() mutable {
      try {
        Connection(server, std::move(socket)).serve();
      } catch (const std::exception& fault) {  // no memory for this client, say: the others go on
        std::fprintf(stderr, "http_server: %s\n", fault.what());
      }
      room.release();
    });
  }
  listener.close();
  open.done();
  open.wait();
}

// --- self-test ---

std::string talk(const std::string& address, std::string_view request, std::size_t piece) {
  net::conn connection = net::dial("tcp", address, 10s);
  std::error_code error;
  for (std::size_t at = 0; at < request.size() && !error; at += piece)
    connection.write(request.substr(at, piece), error);
  connection.close_write();
  std::string reply;
  std::array<char, 4096> buffer;
  while (const std::size_t size = connection.read(std::span<char>(buffer))) reply.append(buffer.data(), size);
  return reply;
}

void expect(bool holds, std::string_view request, const std::string& reply) {
  if (holds) return;
  std::printf("to %.*s\nthe server said %s\n", static_cast<int>(request.size()), request.data(), reply.c_str());
  std::exit(1);
}

void self_test(const std::string& address) {
  constexpr std::string_view kRequests =
      "GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=1\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n"
      "HEAD /lines/3 HTTP/1.1\r\nHost: a\r\n\r\n"
      "GET /lines/3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  for (std::size_t piece = 1; piece <= kRequests.size(); piece += piece < 4 ? 1 : 61) {
    const std::string reply = talk(address, kRequests, piece);
    std::size_t answers = 0, at = 0;
    for (; (at = reply.find("HTTP/1.1 200 OK\r\n", at)) != std::string::npos; ++at) ++answers;
    expect(answers == 4, kRequests, reply);
    expect(reply.find("\r\n\r\nHello, World!HTTP") != std::string::npos, kRequests, reply);
    expect(reply.find("\r\n\r\nabcdeHTTP") != std::string::npos, kRequests, reply);
    expect(reply.ends_with("\r\n\r\n15\r\nline 1\nline 2\nline 3\n\r\n0\r\n\r\n"), kRequests, reply);
  }
  constexpr std::pair<std::string_view, std::string_view> kBad[] = {
      {"GET / HTTP/1.1\r\n\r\n", "400"},
      {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505"},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", "413"},
  };
  for (const auto& [request, status] : kBad) {
    const std::string reply = talk(address, request, 1000);
    expect(reply.starts_with("HTTP/1.1 " + std::string(status)) && reply.find("Connection: close") != std::string::npos,
           request, reply);
  }
  std::puts("self-test passed");
  std::raise(SIGTERM);
}

int serve(const Settings& settings, bool testing) {
  weft::chan<int> stop = io::signals({SIGTERM, SIGINT});
  net::listener listener = net::listen("tcp", settings.address);
  std::fprintf(stderr, "listening on %s\n", listener.address().to_string().c_str());
  const auto [ending, end] = weft::with_cancel(weft::context::background());
  const auto [stopping, stop_accepting] = weft::with_cancel(ending);
  Server server{settings, stopping, ending};
  weft::wait_group open;
  open.add(1);
  auto accepting = weft::spawn([&] { accept_all(server, listener, open); });
  if (testing) weft::go([where = listener.address().to_string()] { self_test(where); });
  stop.recv();
  stop_accepting();
  if (!open.wait_for(settings.grace))
    std::fprintf(stderr, "http_server: requests are cut short after the time of grace\n");
  end();
  accepting.join();
  std::printf("requests: %ld, of them refused: %ld\n", server.requests + server.refused, server.refused.load());
  return 0;
}

bool read_settings(int argc, char** argv, Settings& settings, bool& testing) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--self-test") {
      testing = true;
      settings.address = "127.0.0.1:0";
    } else if (!word.starts_with("-")) {
      settings.address = word;
    } else if (++i == argc) {
      return false;
    } else if (word == "--root") {
      settings.root = argv[i];
    } else {
      const auto number = number_after(argv[i], "", 1'000'000'000);
      if (!number) return false;
      if (word == "--connections") {
        settings.connections = std::max(*number, 1L);
        continue;
      }
      milliseconds* const time = word == "--idle"     ? &settings.idle
                                 : word == "--slow"   ? &settings.slow
                                 : word == "--unread" ? &settings.unread
                                 : word == "--grace"  ? &settings.grace
                                                      : nullptr;
      if (time == nullptr) return false;
      *time = milliseconds(*number);
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  bool testing = false;
  if (!read_settings(argc, argv, settings, testing)) {
    std::fprintf(stderr,
                 "usage: http_server [--root DIR] [--idle|--slow|--unread|--grace MS] [--connections N] [ADDRESS]\n");
    return 2;
  }
  return weft::run([&] {
    try {
      return serve(settings, testing);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "http_server: %s\n", error.what());
      return 1;
    }
  });
}
