// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/debug.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "support/runtime_test.h"

// The debug server, asked by plain sockets from a plain thread.
namespace {

using namespace weft::test;

class DebugServer : public RuntimeTest {};
WEFT_AT_ALL_CONFIGURATIONS(DebugServer);

class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{30, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  bool connected() const { return connected_; }
  void send(const std::string& bytes) const { static_cast<void>(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL)); }
  std::string receive() const {
    std::string text;
    char block[4096];
    for (ssize_t size; (size = ::recv(fd_, block, sizeof block, 0)) > 0;) text.append(block, static_cast<std::size_t>(size));
    return text;
  }

 private:
  int fd_;
  bool connected_;
};

std::string ask(std::uint16_t port, const std::string& target, const std::string& headers = "Host: localhost\r\n") {
  const Client client(port);
  client.send("GET " + target + " HTTP/1.1\r\n" + headers + "\r\n");
  return client.receive();
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_P(DebugServer, page_metrics_data_and_profiles_are_served) {
  weft::debug::server server = weft::debug::serve();
  weft::event end;
  weft::task<void> waits = weft::spawn({.name = "<script>alert(1)</script>"}, [&] { end.wait(); });
  const std::uint16_t port = server.port();
  EXPECT_TRUE(has(ask(port, "/"), "<!doctype html>"));
  EXPECT_TRUE(spin_until([&] { return has(ask(port, "/data"), "\"state\":\"event\",\"site\":\"debug_server_test.cc:"); }));
  EXPECT_TRUE(has(ask(port, "/metrics"), "\nweft_sched_goroutines_created_total "));
  const std::string open = ask(port, "/metrics", "Host: localhost\r\nAccept: application/openmetrics-text\r\n");
  EXPECT_TRUE(has(open, "# TYPE weft_sched_goroutines_created counter\n") && open.ends_with("# EOF\n")) << open;
  EXPECT_TRUE(has(ask(port, "/debug/pprof/"), "threadcreate"));
  EXPECT_TRUE(has(ask(port, "/debug/pprof/goroutine"), "\r\n\r\n\x1f\x8b"));
  EXPECT_TRUE(has(ask(port, "/debug/pprof/goroutine?debug=1"), "goroutine profile: total "));
  EXPECT_TRUE(has(ask(port, "/debug/pprof/goroutine?debug=2"), "<script>alert(1)</script>"));
  EXPECT_TRUE(has(ask(port, "/debug/pprof/goroutine?debug=2"), "Content-Type: text/plain"));
  EXPECT_TRUE(has(ask(port, "/debug/pprof/threadcreate?debug=1"), "threads profile: total "));
  EXPECT_TRUE(has(ask(port, "/debug/pprof/profile?seconds=0"), "\r\n\r\n\x1f\x8b"));
  EXPECT_TRUE(has(ask(port, "/debug/pprof/profile?seconds=x"), " 400 "));
  EXPECT_TRUE(has(ask(port, "/debug/pprof/trace?seconds=0"), "\r\n\r\ngo 1.2"));
  EXPECT_TRUE(has(ask(port, "/debug/pprof/nothing"), " 404 "));
  EXPECT_TRUE(has(ask(port, "/nothing"), " 404 "));
  end.set();
  waits.join();
  server.stop();
  EXPECT_EQ(server.port(), 0);
  EXPECT_FALSE(Client(port).connected());
}

TEST_P(DebugServer, it_answers_while_every_processor_is_stuck) {
  const weft::debug::server server = weft::debug::serve();
  std::atomic<bool> end{false};
  std::atomic<int> stuck{0};
  std::vector<weft::task<void>> hogs;
  for (int i = 0; i < procs(); ++i)
    hogs.push_back(weft::spawn([&] {
      const weft::no_preempt keep;
      for (++stuck; !end.load();) {
      }
    }));
  EXPECT_TRUE(spin_until([&] { return stuck.load() == procs(); }));
  EXPECT_TRUE(has(ask(server.port(), "/data"), "\"state\":\"running\""));
  EXPECT_TRUE(has(ask(server.port(), "/metrics"), "weft_sched_goroutines{state=\"running\"}"));
  end.store(true);
  for (auto& hog : hogs) hog.join();
}

TEST_P(DebugServer, other_names_for_this_machine_are_refused) {
  const weft::debug::server server = weft::debug::serve();
  EXPECT_TRUE(has(ask(server.port(), "/data", "Host: evil.example\r\n"), " 403 "));
  EXPECT_TRUE(has(ask(server.port(), "/data", "Host: 127.0.0.1:80\r\n"), " 200 "));
}

TEST_P(DebugServer, beyond_this_machine_a_token_is_demanded) {
  setenv("WEFT_DEBUG_TOKEN", "secret of the test", 1);
  const weft::debug::server server = weft::debug::serve("0.0.0.0:0");
  unsetenv("WEFT_DEBUG_TOKEN");
  EXPECT_TRUE(has(ask(server.port(), "/data"), " 401 "));
  EXPECT_TRUE(has(ask(server.port(), "/data?token=wrong"), " 401 "));
  EXPECT_TRUE(has(ask(server.port(), "/data?token=secret+of+the+test"), " 200 "));
  EXPECT_TRUE(has(ask(server.port(), "/metrics", "Host: x\r\nAuthorization: Bearer secret of the test\r\n"), " 200 "));
}

TEST_P(DebugServer, malformed_requests_and_silent_connections_do_no_harm) {
  const weft::debug::server server = weft::debug::serve();
  const std::size_t before = resident_bytes();
  {
    std::vector<std::unique_ptr<Client>> silent;
    for (int i = 0; i < 40; ++i) silent.push_back(std::make_unique<Client>(server.port()));
    for (int i = 0; i < 40; ++i) silent[static_cast<std::size_t>(i)]->send("GET / HT");
    const Client garbage(server.port());
    garbage.send(std::string("\0\xff\r\n\r\n", 6));
    EXPECT_TRUE(has(garbage.receive(), " 400 "));
    const Client long_one(server.port());
    long_one.send("GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x'));
    EXPECT_TRUE(has(long_one.receive(), " 431 "));
    EXPECT_TRUE(has(ask(server.port(), "/data"), " 200 "));
  }
  for (int i = 0; i < 1000; ++i) {
    const Client gone(server.port());
    if (i % 2 == 0) gone.send("GET /data HTTP/1.1\r\n\r\n");
  }
  EXPECT_TRUE(has(ask(server.port(), "/data"), " 200 "));
  EXPECT_LT(resident_bytes(), before + (64u << 20) * kSlowdown);
}

TEST_P(DebugServer, promtool_accepts_the_metrics) {
  if (std::system("promtool --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "promtool is not installed";
  const weft::debug::server server = weft::debug::serve();
  const std::string answer = ask(server.port(), "/metrics");
  FILE* pipe = popen("promtool check metrics", "w");
  ASSERT_NE(pipe, nullptr);
  std::fputs(answer.c_str() + answer.find("\r\n\r\n") + 4, pipe);
  EXPECT_EQ(pclose(pipe), 0) << answer;
}

TEST_P(DebugServer, wrong_addresses_are_refused) {
  EXPECT_THROW(weft::debug::serve("nonsense"), std::invalid_argument);
  const weft::debug::server server = weft::debug::serve();
  EXPECT_THROW(weft::debug::serve("127.0.0.1:" + std::to_string(server.port())), std::system_error);
}

}  // namespace
