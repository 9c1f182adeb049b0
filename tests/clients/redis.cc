// SPDX-License-Identifier: MIT
// hiredis: redis SOCKET CONNECTIONS. Connections that all wait in BLPOP at once, without a thread for each of them; commands; a time
// limit; a server that goes away.
#include <hiredis/hiredis.h>

#include <cerrno>
#include <memory>
#include <string>

#include "client.h"

namespace {

using Reply = std::unique_ptr<redisReply, decltype(&freeReplyObject)>;

template <class... Arguments>
Reply command(redisContext* connection, const char* format, Arguments... arguments) {
  return Reply(static_cast<redisReply*>(redisCommand(connection, format, arguments...)), freeReplyObject);
}

}  // namespace

int main(int, char** arguments) {
  return weft::run([=] {
    const char* where = arguments[1];
    const int count = std::atoi(arguments[2]);
    std::vector<redisContext*> connections(static_cast<std::size_t>(count));
    weft::wait_group group;
    Beside beside;
    for (redisContext*& each : connections) {
      group.go([&each, where] {
        each = redisConnectUnix(where);
        EXPECT(each != nullptr && each->err == 0);
      });
    }
    group.wait();
    std::atomic<int> popped{0};
    for (int i = 1; i < count; ++i) {
      group.go([&popped, mine = connections[static_cast<std::size_t>(i)]] {
        const Reply reply = command(mine, "BLPOP weft-list 0");
        EXPECT(reply != nullptr && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2);
        ++popped;
      });
    }
    redisContext* first = connections[0];
    const auto end = Clock::now() + 60s;
    for (;;) {
      const Reply info = command(first, "INFO clients");
      EXPECT(info != nullptr && Clock::now() < end);
      if (std::string(info->str, info->len).find("blocked_clients:" + std::to_string(count - 1)) != std::string::npos) break;
      weft::this_goroutine::sleep_for(5ms);
    }
    EXPECT(popped == 0 && count_threads() < kFewThreads);
    for (int i = 1; i < count; ++i) EXPECT(command(first, "RPUSH weft-list %d", i) != nullptr);
    group.wait();
    EXPECT(popped == count - 1);

    const auto began = Clock::now();
    constexpr int kEach = 50;
    for (redisContext* mine : connections) {
      group.go([mine] {
        for (int round = 0; round < kEach; ++round) EXPECT(command(mine, "INCR weft-counter")->type == REDIS_REPLY_INTEGER);
      });
    }
    group.wait();
    EXPECT(command(first, "INCR weft-counter")->integer == kEach * count + 1);
    std::printf("%d commands: %.0f per second\n", kEach * count,
                kEach * count / std::chrono::duration<double>(Clock::now() - began).count());
    EXPECT(beside.end("hiredis") < kFewThreads);

    // hiredis sets SO_RCVTIMEO, and says what errno says.
    EXPECT(redisSetTimeout(first, timeval{0, 30'000}) == REDIS_OK);
    EXPECT(command(first, "BLPOP weft-nothing 0") == nullptr && first->err == REDIS_ERR_IO);
    EXPECT(std::string(first->errstr).find("temporarily unavailable") != std::string::npos);
    auto cut = weft::spawn([&] { return command(connections[1], "BLPOP weft-nothing 0") == nullptr ? connections[1]->err : 0; });
    weft::this_goroutine::sleep_for(5ms);
    command(connections[2], "SHUTDOWN NOSAVE");
    const int error = cut.join();
    EXPECT(error == REDIS_ERR_EOF || error == REDIS_ERR_IO);
    redisContext* refused = redisConnectUnix(where);
    EXPECT(refused != nullptr && refused->err != 0);
    redisFree(refused);
    for (redisContext* each : connections) redisFree(each);
    std::puts("ok");
    return 0;
  });
}
