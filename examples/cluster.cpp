// SPDX-License-Identifier: MIT
// A fleet of processes that share one queue of jobs: Redis Streams with a consumer group. weft stays one process each; what
// they share is Redis.
//   cluster produce REDIS COUNT [BACKLOG]   adds jobs, at most BACKLOG (1000) of them not done at a time
//   cluster work REDIS NAME [SLOTS [PATIENCE-MS]]   does jobs, SLOTS (4) at once, until SIGTERM or SIGINT; then ends what it has begun
//   cluster report REDIS                    says how many jobs there were, and what came of them
//   Lost         nothing: a job is acknowledged in the transaction that stores its result. The jobs of a worker that died
//                are claimed by the others after a second (PATIENCE-MS).
//   Doubled      nothing that counts: a job that two workers did (one seemed dead) stores its result once, under its key.
//   Pressure     a worker reads only what fits into its channel, and the producer waits for the backlog.
#include <weft/io.h>
#include <weft/weft.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/redis.h"

namespace {

using cluster::Redis;
using cluster::Reply;
using namespace std::chrono_literals;

struct Job {
  std::string id;   // in the stream
  std::string key;  // of the result: the same however often the job is done
};

// The jobs in an answer of XREADGROUP or XAUTOCLAIM. A job that was deleted meanwhile has no fields.
std::vector<Job> jobs_in(const Reply& entries) {
  std::vector<Job> jobs;
  for (const Reply& entry : entries.items)
    if (entry.items.size() == 2 && entry.items[1].items.size() >= 2)
      jobs.push_back({entry.items[0].text, entry.items[1].items[1].text});
  return jobs;
}

void make_group(Redis& redis) {
  try {
    redis.call({"XGROUP", "CREATE", "jobs", "workers", "0", "MKSTREAM"});
  } catch (const std::runtime_error& error) {
    if (std::string_view(error.what()).find("BUSYGROUP") == std::string_view::npos) throw;  // else it is there
  }
}

int produce(const std::string& address, long count, long backlog) {
  Redis redis(address);
  make_group(redis);
  for (long made = 0; made < count;) {
    const long room = backlog - redis.call({"XLEN", "jobs"}).number;
    if (room <= 0) {
      weft::this_goroutine::sleep_for(5ms);
      continue;
    }
    std::vector<Redis::Command> commands;
    for (long i = 0; i < std::min({room, count - made, 100L}); ++i)
      commands.push_back({"XADD", "jobs", "*", "key", std::to_string(made + i)});
    redis.call_all(commands);
    made += static_cast<long>(commands.size());
  }
  std::printf("produced %ld\n", count);
  return 0;
}

// What a job is: here the number of steps of Collatz's sequence.
long collatz(long n) {
  long steps = 0;
  for (unsigned long x = static_cast<unsigned long>(n) + 1; x != 1; ++steps) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
  return steps;
}

// Does jobs until the channel is closed and empty. Result, acknowledgement and deletion are one transaction.
void do_jobs(const std::string& address, weft::chan<Job> jobs, std::atomic<long>& done) {
  Redis redis(address);
  for (const Job& job : jobs) {
    weft::this_goroutine::sleep_for(1ms);  // a job that waits for something
    const std::string result = std::to_string(collatz(std::stol(job.key)));
    redis.call_all({{"MULTI"},
                    {"HSETNX", "results", job.key, result},
                    {"HINCRBY", "attempts", job.key, "1"},
                    {"XACK", "jobs", "workers", job.id},
                    {"XDEL", "jobs", job.id},
                    {"EXEC"}});
    ++done;
  }
}

// Fetches jobs into the channel: those of dead workers first, then new ones. Returns when `ctx` is cancelled, and at once
// when `failed` is: then no slot takes jobs any more.
void fetch(const weft::context& ctx, const weft::context& failed, Redis& redis, const std::string& name,
           const std::string& patience, weft::chan<Job> jobs) {
  const std::string batch = std::to_string(jobs.capacity());
  while (!ctx.cancelled()) {
    Reply claimed = redis.call({"XAUTOCLAIM", "jobs", "workers", name, patience, "0", "COUNT", batch});
    std::vector<Job> found = jobs_in(claimed.items.at(1));
    if (found.empty()) {
      const Reply fresh =
          redis.call({"XREADGROUP", "GROUP", "workers", name, "COUNT", batch, "BLOCK", "200", "STREAMS", "jobs", ">"});
      for (const Reply& stream : fresh.items) found = jobs_in(stream.items.at(1));
    }
    for (const Job& job : found)  // waits for room
      if (weft::select(weft::on_send(jobs, job), weft::on_recv(failed.done())) == 1) return;
  }
}

int work(const std::string& address, const std::string& name, long slots, const std::string& patience) {
  weft::chan<int> stop = weft::io::signals({SIGTERM, SIGINT});
  Redis redis(address);
  make_group(redis);
  std::printf("%s works\n", name.c_str());
  std::fflush(stdout);
  weft::chan<Job> jobs(static_cast<std::size_t>(slots), "jobs fetched");
  std::atomic<long> done{0};
  weft::group group;
  for (long i = 0; i < slots; ++i) group.go({.name = "slot"}, [&] { do_jobs(address, jobs, done); });
  group.go({.name = "fetch"}, [&](const weft::context& ctx) {
    const auto [fetching, end] = weft::with_cancel(ctx);
    weft::go([stop, end = end, done = ctx.done()]() mutable {
      weft::select(weft::on_recv(stop, [&](auto) { end(); }), weft::on_recv(done, [](auto) {}));
    });
    const struct Closed {
      weft::chan<Job>& jobs;
      ~Closed() { jobs.close(); }
    } at_end{jobs};  // the slots end what has been fetched
    fetch(fetching, ctx, redis, name, patience, jobs);
  });
  group.wait();
  std::printf("%s has done %ld\n", name.c_str(), done.load());
  return 0;
}

int report(const std::string& address) {
  Redis redis(address);
  const Reply results = redis.call({"HGETALL", "results"}), attempts = redis.call({"HVALS", "attempts"});
  long right = 0, repeated = 0;
  for (std::size_t i = 0; i + 1 < results.items.size(); i += 2)
    right += std::to_string(collatz(std::stol(results.items[i].text))) == results.items[i + 1].text;
  for (const Reply& each : attempts.items) repeated += each.text != "1";
  std::printf("results %zu, right %ld, repeated %ld, left %ld\n", results.items.size() / 2, right, repeated,
              static_cast<long>(redis.call({"XLEN", "jobs"}).number));
  return 0;
}

int usage() {
  std::fprintf(stderr,
               "usage: cluster produce REDIS COUNT [BACKLOG] | work REDIS NAME [SLOTS [PATIENCE-MS]] | report REDIS\n");
  return 2;
}

int run_command(const std::vector<std::string>& words) {
  const auto number = [&](std::size_t at, long otherwise) {
    return at < words.size() ? std::stol(words[at]) : otherwise;
  };
  if (words.size() >= 3 && words[0] == "produce") return produce(words[1], number(2, 0), number(3, 1000));
  if (words.size() >= 3 && words[0] == "work")
    return work(words[1], words[2], std::max(number(3, 4), 1L), std::to_string(number(4, 1000)));
  if (words.size() == 2 && words[0] == "report") return report(words[1]);
  return usage();
}

}  // namespace

int main(int argc, char** argv) {
  return weft::run([&] {
    try {
      return run_command({argv + 1, argv + argc});
    } catch (const std::exception& error) {
      std::fprintf(stderr, "cluster: %s\n", error.what());
      return 1;
    }
  });
}
