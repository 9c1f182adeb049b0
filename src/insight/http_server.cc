// SPDX-License-Identifier: MIT
#include "insight/http_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <list>
#include <system_error>
#include <utility>
#include <vector>

#include "base/atomic.h"
#include "os/clock.h"
#include "os/note.h"
#include "os/thread.h"
#include "service/deadlock.h"

namespace weft::insight {

struct HttpServer::State {
  int listener = -1;
  int doorbell = -1;
  Site site;
  base::Atom<bool> stopping{false};
  base::Atom<int> slow_requests{0};
  os::Note ended;

  ~State() {
    if (listener >= 0) ::close(listener);
    if (doorbell >= 0) ::close(doorbell);
  }
};

namespace {

using State = HttpServer::State;

constexpr std::size_t kMaxHead = 8192;
constexpr std::int64_t kReadLimitNs = 10'000'000'000, kWriteLimitNs = 30'000'000'000;
constexpr std::size_t kThreadStack = 512 * 1024;

Response answer(const Site& site, const Request& request) {
  try {
    return site.answer(request);
  } catch (const std::exception& error) {
    return {500, "text/plain; charset=utf-8", std::string(error.what()) + "\n"};
  }
}

struct Connection {
  int fd;
  std::int64_t deadline_ns;
  std::string in, out{};
  std::size_t sent = 0;
  bool answering = false;
};

// A slow request and the thread that answers it.
struct SlowRequest {
  std::shared_ptr<State> state;
  Request request;
  int fd;

  void run() {
    const std::string bytes = to_bytes(answer(state->site, request), request.head_only);
    const int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    const timeval limit{kWriteLimitNs / 1'000'000'000, 0};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      sent += static_cast<std::size_t>(count);
    }
    ::close(fd);
    state->slow_requests.fetch_sub_release(1);  // pairs: insight.slow (self)
    service::end_helper_thread();
  }
};

class Loop {
 public:
  explicit Loop(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~Loop() {
    for (const Connection& one : connections_) ::close(one.fd);
  }

  void run() {
    while (!state_->stopping.load_acquire()) {  // pairs: insight.stopping
      wait_for_events();
      const std::int64_t now = os::now_ns();
      for (auto one = connections_.begin(); one != connections_.end();) {
        const auto next = std::next(one);
        if (!step(*one) || now >= one->deadline_ns) drop(one);
        one = next;
      }
      if (connections_.size() < HttpServer::kConnections) accept_all();
    }
  }

 private:
  void wait_for_events() {
    std::vector<pollfd> polled{{state_->doorbell, POLLIN, 0}};
    const bool has_room = connections_.size() < HttpServer::kConnections && os::now_ns() >= accept_again_ns_;
    if (has_room) polled.push_back({state_->listener, POLLIN, 0});
    for (const Connection& one : connections_)
      polled.push_back({one.fd, static_cast<short>(one.answering ? POLLOUT : POLLIN), 0});
    const bool is_quiet = connections_.empty() && has_room;
    poll(polled.data(), polled.size(), is_quiet ? -1 : 100);
  }

  void accept_all() {
    if (os::now_ns() < accept_again_ns_) return;
    while (connections_.size() < HttpServer::kConnections) {
      const int fd = accept4(state_->listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) {
        // Without descriptors poll would report the waiting connection at once, for ever.
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) accept_again_ns_ = os::now_ns() + 100'000'000;
        return;
      }
      connections_.push_back({fd, os::now_ns() + kReadLimitNs, {}});
    }
  }

  // False: the connection is over.
  bool step(Connection& one) { return one.answering ? send_more(one) : read_more(one); }

  bool read_more(Connection& one) {
    char block[2048];
    for (;;) {
      const ssize_t count = ::recv(one.fd, block, sizeof block, 0);
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      if (count == 0) return false;
      one.in.append(block, static_cast<std::size_t>(count));
      const std::size_t end = one.in.find("\r\n\r\n");
      if (end != std::string::npos) return serve(one, std::string_view(one.in).substr(0, end + 2));
      if (one.in.size() > kMaxHead) return reply(one, {431, "text/plain", "the request is too long\n"}, false);
    }
  }

  bool serve(Connection& one, std::string_view head) {
    int status = 0;
    const std::optional<Request> request = parse_request(head, status);
    if (!request) return reply(one, {status, "text/plain", "this server understands GET and HEAD\n"}, false);
    if (const Response refusal = state_->site.refusal(*request); refusal.status != 200)
      return reply(one, refusal, request->head_only);
    if (!state_->site.is_slow(*request)) return reply(one, answer(state_->site, *request), request->head_only);
    return serve_slowly(one, *request);
  }

  bool serve_slowly(Connection& one, const Request& request) {
    if (state_->slow_requests.fetch_add_relaxed(1) < HttpServer::kSlowRequests) {
      auto* job = new SlowRequest{state_, request, one.fd};
      service::add_helper_thread();
      const auto run = [](void* raw) {
        const std::unique_ptr<SlowRequest> mine(static_cast<SlowRequest*>(raw));
        mine->run();
      };
      if (os::start_thread(run, job, kThreadStack, "weft-debug-req") == 0) {
        one.fd = -1;  // the thread has it
        return false;
      }
      service::end_helper_thread();
      delete job;
    }
    state_->slow_requests.fetch_sub_release(1);  // pairs: insight.slow (self)
    return reply(one, {503, "text/plain", "too many profiles at once; try again later\n"}, request.head_only);
  }

  bool reply(Connection& one, const Response& response, bool head_only) {
    one.out = to_bytes(response, head_only);
    one.answering = true;
    one.deadline_ns = os::now_ns() + kWriteLimitNs;
    return send_more(one);
  }

  bool send_more(Connection& one) {
    while (one.sent < one.out.size()) {
      const ssize_t count = ::send(one.fd, one.out.data() + one.sent, one.out.size() - one.sent, MSG_NOSIGNAL);
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      one.sent += static_cast<std::size_t>(count);
      one.deadline_ns = os::now_ns() + kWriteLimitNs;
    }
    return false;
  }

  void drop(std::list<Connection>::iterator one) {
    if (one->fd >= 0) {
      ::shutdown(one->fd, SHUT_WR);
      char rest[4096];  // unread bytes would turn the close into a reset, and the client might miss the answer
      static_cast<void>(::recv(one->fd, rest, sizeof rest, 0));
      ::close(one->fd);
    }
    connections_.erase(one);
  }

  std::shared_ptr<State> state_;
  std::list<Connection> connections_;
  std::int64_t accept_again_ns_ = 0;
};

void serve(void* raw) {
  const std::unique_ptr<std::shared_ptr<State>> mine(static_cast<std::shared_ptr<State>*>(raw));
  { Loop(*mine).run(); }
  service::end_helper_thread();
  (*mine)->ended.signal();
}

}  // namespace

HttpServer::HttpServer(int listener, Site site) : state_(std::make_shared<State>()) {
  state_->listener = listener;
  state_->site = std::move(site);
  state_->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (state_->doorbell < 0) throw std::system_error(errno, std::generic_category(), "weft: debug::serve");
  auto shared = std::make_unique<std::shared_ptr<State>>(state_);
  service::add_helper_thread();
  if (const int error = os::start_thread(serve, shared.get(), kThreadStack, "weft-debug"); error != 0) {
    service::end_helper_thread();
    throw std::system_error(error, std::generic_category(), "weft: debug::serve: the system refuses a thread");
  }
  static_cast<void>(shared.release());
}

HttpServer::~HttpServer() {
  state_->stopping.store_release(true);  // pairs: insight.stopping
  const std::uint64_t one = 1;
  static_cast<void>(::write(state_->doorbell, &one, sizeof one));
  state_->ended.wait();
  ::close(std::exchange(state_->listener, -1));  // now: slow requests may keep the state for long
}

}  // namespace weft::insight
