// A pool of workers: a few goroutines take jobs from one channel, so that never more than a few run at once, however many
// there are. Each job carries a promise for its result, or for the exception it ended with; the futures go to the reader
// in the order of the jobs, and so the results arrive in order although the work was not done in order.
#include <weft/chan.h>
#include <weft/future.h>
#include <weft/go.h>
#include <weft/wait_group.h>
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

constexpr int kWorkers = 3;

struct job {
  std::string text;
  weft::promise<int> result;
};
struct pending {
  std::string text;
  weft::future<int> result;
};

std::atomic<int> working{0}, most{0};

// How many steps of Collatz's game lead from the number to 1.
int steps_from(const std::string& text) {
  long n = 0;
  for (char digit : text) {
    if (digit < '0' || digit > '9') throw std::invalid_argument("not a number");
    n = n * 10 + (digit - '0');
  }
  if (n == 0) throw std::domain_error("never comes to 1");
  int steps = 0;
  for (; n != 1; ++steps) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    if (steps % 10 == 0) weft::this_goroutine::yield();  // as if it were long: the others come to their turn
  }
  return steps;
}

void work(weft::chan<job> jobs) {
  for (job& next : jobs) {
    for (int now = ++working, seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    try {
      next.result.set_value(steps_from(next.text));
    } catch (...) {
      next.result.set_exception(std::current_exception());
    }
    --working;
  }
}

}  // namespace

int main() {
  weft::run([] {
    weft::chan<job> jobs;
    weft::chan<pending> in_order(8);  // so far may the jobs run ahead of the reader
    weft::wait_group workers;
    for (int i = 0; i < kWorkers; ++i) workers.go([jobs] { work(jobs); });
    weft::go([jobs, in_order] {
      for (const char* text : {"27", "1", "97", "6", "seven", "871", "12", "0", "6171", "2", "19", "837799"}) {
        weft::promise<int> result;
        in_order.send({text, result.get_future()});
        jobs.send({text, std::move(result)});
      }
      jobs.close();
      in_order.close();
    });
    for (auto& [text, result] : in_order) {
      try {
        std::printf("%6s: %d steps\n", text.c_str(), result.get());
      } catch (const std::exception& error) {
        std::printf("%6s: %s\n", text.c_str(), error.what());
      }
    }
    workers.wait();
    std::printf("%s\n", most <= kWorkers ? "never more than 3 at work" : "TOO MANY at work");
  });
}
