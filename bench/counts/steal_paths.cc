// SPDX-License-Identifier: MIT
// The hot paths of thieves, on the queues themselves: a real thief is another thread, and comes when it likes. See hot_paths.cc.
#include "counts/paths.h"

#include <cstdint>
#include <cstdlib>

#include "sched/queue/record_deque.h"
#include "sched/queue/run_queue.h"

// Eight goroutines are queued; a thief takes half of them, the owner runs the others.
static void steal_half(long count) {
  static weft::sched::RunQueue<std::uintptr_t, 256> queue;
  std::uintptr_t taken[128];
  for (long i = 0; i < count; ++i) {
    for (std::uintptr_t item = 1; item <= 8; ++item) queue.push(item);
    std::uint32_t left = 8 - queue.pop_half(taken, 128);
    while (queue.pop() != 0) --left;
    if (left != 0) std::abort();
  }
}

// Two goroutines are started; a thief takes the older, the owner runs the newer.
static void steal_record(long count) {
  static weft::sched::RecordDeque<std::uintptr_t, 256> deque;
  for (long i = 0; i < count; ++i) {
    deque.push(1);
    deque.push(2);
    if (deque.steal() != 1 || deque.pop() != 2) std::abort();
  }
}

int main(int argc, char** argv) {
  const Paths paths = {{"steal_half", steal_half}, {"steal_record", steal_record}};
  return run_path(argc, argv, paths, [](void (*path)(long), long count) { path(count); });
}
