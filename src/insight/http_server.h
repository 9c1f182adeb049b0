// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "insight/http_request.h"

// A small server with a thread of its own, so that it answers when every P is stuck. It uses neither goroutines nor the
// netpoller.
//   Quick    requests are answered by the thread that serves all connections.
//   Slow     ones (a profile of 30 s, a stopped world) get a thread each, at most kSlowRequests at once; the next one is
//            told to come back.
//   Bounds   kConnections open connections, 8 KiB of request each, 10 s to send it, 30 s without progress to take the
//            answer. Connections beyond that wait in the kernel's queue.
namespace weft::insight {

struct Site {
  std::function<bool(const Request&)> is_slow;
  std::function<Response(const Request&)> answer;   // any thread; may throw
  std::function<Response(const Request&)> refusal;  // status 200: may go on
};

class HttpServer {
 public:
  static constexpr std::size_t kConnections = 64;
  static constexpr int kSlowRequests = 4;

  // Takes the listening socket. Throws std::system_error if there is no descriptor or thread.
  HttpServer(int listener, Site site);
  // Returns when the thread has ended. Slow requests that are under way end by themselves.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace weft::insight
