// SPDX-License-Identifier: MIT
// SQLite: sqlite FILE. Goroutines with a connection each write to one database. SQLite holds a recursive mutex while it sleeps for
// the database's lock, so the goroutine has to keep its thread.
#include <sqlite3.h>

#include <string>

#include "client.h"

namespace {

sqlite3* opened(const char* path) {
  sqlite3* database = nullptr;
  EXPECT(sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr) == SQLITE_OK);
  sqlite3_busy_timeout(database, 60'000);
  return database;
}

void run(sqlite3* database, const std::string& statement) {
  char* error = nullptr;
  if (sqlite3_exec(database, statement.c_str(), nullptr, nullptr, &error) == SQLITE_OK) return;
  std::printf("%s: %s\n", statement.c_str(), error);
  EXPECT(error == nullptr);
}

}  // namespace

int main(int, char** arguments) {
  return weft::run([=] {
    constexpr int kWriters = 8, kRows = 20;
    sqlite3* first = opened(arguments[1]);
    run(first, "create table rows(writer integer, number integer)");
    weft::wait_group group;
    for (int i = 0; i < kWriters; ++i) {
      group.go([=] {
        sqlite3* mine = i % 2 == 0 ? opened(arguments[1]) : first;  // some share a connection
        for (int row = 0; row < kRows; ++row)
          run(mine, "insert into rows values(" + std::to_string(i) + ", " + std::to_string(row) + ")");
        if (mine != first) EXPECT(sqlite3_close(mine) == SQLITE_OK);
      });
    }
    group.wait();
    sqlite3_stmt* statement = nullptr;
    EXPECT(sqlite3_prepare_v2(first, "select count(distinct writer * 1000 + number) from rows", -1, &statement, nullptr) == SQLITE_OK);
    EXPECT(sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) == kWriters * kRows);
    sqlite3_finalize(statement);
    EXPECT(sqlite3_close(first) == SQLITE_OK);
    std::puts("ok");
    return 0;
  });
}
