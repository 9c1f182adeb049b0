// SPDX-License-Identifier: MIT
// libpq: postgres CONNECTION-STRING CONNECTIONS QUERIES. Connections that all wait for the server at once, without a thread for
// each of them; then goroutines that share them; then a server process that dies, and a query that is too late.
#include <libpq-fe.h>

#include <cstring>
#include <string>

#include "client.h"

namespace {

std::string value_of(PGconn* connection, const std::string& query) {
  PGresult* result = PQexec(connection, query.c_str());
  EXPECT(PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1);
  const std::string value = PQgetvalue(result, 0, 0);
  PQclear(result);
  return value;
}

std::string error_of(PGconn* connection, const std::string& query) {
  PGresult* result = PQexec(connection, query.c_str());
  EXPECT(PQresultStatus(result) == PGRES_FATAL_ERROR);
  const std::string text = PQerrorMessage(connection);
  PQclear(result);
  return text;
}

}  // namespace

int main(int, char** arguments) {
  return weft::run([=] {
    const char* where = arguments[1];
    const int count = std::atoi(arguments[2]), queries = std::atoi(arguments[3]);
    std::vector<PGconn*> connections(static_cast<std::size_t>(count));
    weft::wait_group group;
    Beside beside;
    for (PGconn*& each : connections) {
      group.go([&each, where] {
        each = PQconnectdb(where);
        if (PQstatus(each) != CONNECTION_OK) std::printf("%s\n", PQerrorMessage(each));
        EXPECT(PQstatus(each) == CONNECTION_OK);
      });
    }
    group.wait();

    // All of them in a query at once: each waits until the last one has begun, as the server says.
    EXPECT(value_of(connections[0], "select pg_advisory_lock(1) is null") == "f");
    std::atomic<int> done{0};
    for (int i = 1; i < count; ++i) {
      group.go([&, i, mine = connections[static_cast<std::size_t>(i)]] {
        EXPECT(value_of(mine, "select " + std::to_string(i) + " + 0 * length(pg_advisory_lock_shared(1)::text)") == std::to_string(i));
        ++done;
      });
    }
    const auto end = Clock::now() + 60s;
    while (value_of(connections[0], "select count(*) from pg_locks where locktype = 'advisory' and not granted") !=
           std::to_string(count - 1)) {
      EXPECT(Clock::now() < end);
      weft::this_goroutine::sleep_for(10ms);
    }
    EXPECT(done == 0);
    EXPECT(count_threads() < kFewThreads);
    EXPECT(value_of(connections[0], "select pg_advisory_unlock(1)") == "t");
    group.wait();
    EXPECT(done == count - 1);

    // Many goroutines, one pool.
    weft::chan<PGconn*> pool(connections.size());
    for (PGconn* each : connections) pool.send(each);
    const auto began = Clock::now();
    for (int i = 0; i < queries; ++i) {
      group.go([&pool, i] {
        PGconn* mine = *pool.recv();
        EXPECT(value_of(mine, "select repeat('x', " + std::to_string(i % 100 * 100) + ") || '" + std::to_string(i) + "'").size() ==
               static_cast<std::size_t>(i % 100 * 100) + std::to_string(i).size());
        pool.send(mine);
      });
    }
    group.wait();
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    std::printf("%d queries by as many goroutines over %d connections: %.0f per second\n", queries, count, queries / seconds);
    EXPECT(beside.end("libpq") < kFewThreads);

    // A server that goes away in the middle, and one that is asked to stop.
    auto cut = weft::spawn([&] { return error_of(connections[1], "select pg_sleep(600)"); });
    const std::string pid = std::to_string(PQbackendPID(connections[1]));
    while (value_of(connections[0], "select count(*) from pg_stat_activity where wait_event = 'PgSleep'") == "0")
      weft::this_goroutine::sleep_for(5ms);
    EXPECT(value_of(connections[0], "select pg_terminate_backend(" + pid + ")") == "t");
    const std::string why = cut.join();
    EXPECT(why.find("terminating connection") != std::string::npos);
    EXPECT(error_of(connections[2], "set statement_timeout = 20; select pg_sleep(600)").find("statement timeout") != std::string::npos);
    for (PGconn* each : connections) PQfinish(each);
    std::puts("ok");
    return 0;
  });
}
