// SPDX-License-Identifier: MIT
// libcurl against a server of weft's own: transfers that all wait for their answer at once, names, time limits, refused connections.
#include <curl/curl.h>
#include <weft/net.h>

#include <string>

#include "client.h"

namespace {

std::size_t append(char* data, std::size_t size, std::size_t count, void* to) {
  static_cast<std::string*>(to)->append(data, size * count);
  return size * count;
}

struct Answer {
  CURLcode code;
  std::string body;
};

Answer get(const std::string& url, long limit_ms = 60'000) {
  Answer answer;
  CURL* handle = curl_easy_init();
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, limit_ms);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer.body);
  answer.code = curl_easy_perform(handle);
  curl_easy_cleanup(handle);
  return answer;
}

}  // namespace

int main() {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  return weft::run([] {
    constexpr int kCount = 100;
    weft::net::listener listener = weft::net::listen("tcp", "127.0.0.1:0");
    const std::string port = listener.address().to_string().substr(listener.address().to_string().rfind(':'));
    std::atomic<int> asked{0}, answering{0};
    weft::wait_group servers, clients;
    weft::event everybody;
    servers.go([&] {
      for (;;) {
        std::error_code error;
        weft::net::conn accepted = listener.accept(error);
        if (error) return;
        auto connection = std::make_shared<weft::net::conn>(std::move(accepted));
        servers.go([&, connection] {
          std::string request;
          char text[1024];
          while (request.find("\r\n\r\n") == std::string::npos) {
            std::error_code failed;
            const std::size_t got = connection->read(text, failed);
            if (failed || got == 0) return;
            request.append(text, got);
          }
          if (request.starts_with("GET /never")) {
            std::error_code gone;
            connection->read(text, gone);  // until the client gives up
            return;
          }
          if (++asked == kCount) everybody.set();
          everybody.wait();  // nobody is answered before all have asked
          const std::string body(20'000, 'b');
          std::error_code failed;
          connection->write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body,
                            failed);
        });
      }
    });
    Beside beside;
    for (int i = 0; i < kCount; ++i) {
      clients.go([&] {
        const Answer answer = get("http://127.0.0.1" + port + "/");
        if (answer.code != CURLE_OK) std::printf("%s\n", curl_easy_strerror(answer.code));
        EXPECT(answer.code == CURLE_OK && answer.body.size() == 20'000);
        ++answering;
      });
    }
    clients.wait();
    EXPECT(answering == kCount);
    EXPECT(beside.end("libcurl") < kFewThreads);
    EXPECT(get("http://localhost" + port + "/").body.size() == 20'000);  // asked by a thread of libcurl's
    EXPECT(get("http://127.0.0.1" + port + "/never", 50).code == CURLE_OPERATION_TIMEDOUT);
    listener.close();
    EXPECT(get("http://127.0.0.1" + port + "/").code == CURLE_COULDNT_CONNECT);
    servers.wait();
    std::puts("ok");
    return 0;
  });
}
