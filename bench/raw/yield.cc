// SPDX-License-Identifier: MIT
// yield: a bare switch from each of `tasks` stacks to the next, in turn.
#include "raw/context.h"

static std::vector<void*> contexts;  // contexts.back() is main
static std::size_t current;

static void next() {
  const std::size_t from = current;
  current = from + 1 == contexts.size() ? 0 : from + 1;
  raw_switch(&contexts[from], contexts[current]);
}

static void task() {
  for (;;) next();
}

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  args.procs();  // one core: a switch between stacks never needs a second
  const long others = std::max(args.get("tasks", 2) - 1, 1l);
  const long count = args.get("count", 1'000'000);
  for (long i = 0; i < others; ++i) contexts.push_back(raw::make_context(task));
  contexts.push_back(nullptr);
  current = contexts.size() - 1;
  next();  // every stack has been entered
  const double start = bench::now_ns();
  for (long i = 0; i < count; ++i) next();
  bench::report("ns", (bench::now_ns() - start) / static_cast<double>(count * (others + 1)));
}
