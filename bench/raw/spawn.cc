// SPDX-License-Identifier: MIT
// spawn: the least that starting a task later can mean: allocate a 64-byte closure, link it, afterwards call and free it.
#include "common/bench.h"

struct Closure {
  Closure* next;
  void (*call)(Closure*);
  long* sum;
  void* words[5];
};

static double spawn_all(long tasks, long burst) {
  long sum = 0;
  const double start = bench::now_ns();
  for (long done = 0; done < tasks; done += burst) {
    Closure* list = nullptr;
    for (long i = 0; i < burst; ++i) {
      auto* closure = static_cast<Closure*>(std::malloc(sizeof(Closure)));
      closure->next = list;
      closure->sum = &sum;
      closure->call = [](Closure* self) { ++*self->sum; };
      list = closure;
    }
    while (Closure* closure = list) {
      list = closure->next;
      closure->call(closure);
      std::free(closure);
    }
  }
  bench::require(sum == tasks, "every closure ran");
  return (bench::now_ns() - start) / static_cast<double>(tasks);
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  args.procs();
  const long tasks = args.get("tasks", 1'000'000);
  const long burst = args.get("burst", tasks);
  bench::report("cold_ns", spawn_all(tasks, burst));
  bench::report("warm_ns", spawn_all(tasks, burst));
}
