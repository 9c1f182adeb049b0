// SPDX-License-Identifier: MIT
// buffered: a lock-free ring for one producer and one consumer. On one core it is filled and emptied in turn.
#include "common/affinity.h"

#include <thread>

template <std::size_t kCapacity>
struct Ring {
  alignas(64) std::atomic<std::size_t> head{0};
  alignas(64) std::atomic<std::size_t> tail{0};
  alignas(64) long slots[kCapacity];
  alignas(64) std::size_t head_seen = 0;  // the producer's copy of head
  alignas(64) std::size_t tail_seen = 0;  // the consumer's copy of tail

  bool push(long value) {
    const std::size_t at = tail.load(std::memory_order_relaxed);
    if (at - head_seen == kCapacity) {
      head_seen = head.load(std::memory_order_acquire);
      if (at - head_seen == kCapacity) return false;
    }
    slots[at % kCapacity] = value;
    tail.store(at + 1, std::memory_order_release);
    return true;
  }
  bool pop(long& value) {
    const std::size_t at = head.load(std::memory_order_relaxed);
    if (at == tail_seen) {
      tail_seen = tail.load(std::memory_order_acquire);
      if (at == tail_seen) return false;
    }
    value = slots[at % kCapacity];
    head.store(at + 1, std::memory_order_release);
    return true;
  }
};

static Ring<128> ring;

int main(int argc, char** argv) {
  bench::Arguments args(argc, argv);
  const int procs = args.procs();
  const long count = args.get("count", 10'000'000);
  args.get("producers", 1), args.get("consumers", 1), args.get("capacity", 128);
  long sum = 0;
  const double start = bench::now_ns();
  if (procs == 1) {
    for (long sent = 0, received = 0; received < count;) {
      while (sent < count && ring.push(sent)) ++sent;
      for (long value; ring.pop(value); ++received) sum += value;
    }
  } else {
    const std::vector<int> cpus = bench::allowed_cpus();
    std::thread producer([&cpus, count] {
      bench::pin_to(cpus, 1);
      for (long i = 0; i < count; ++i)
        while (!ring.push(i)) {
        }
    });
    bench::pin_to(cpus, 0);
    for (long i = 0; i < count; ++i) {
      long value;
      while (!ring.pop(value)) {
      }
      sum += value;
    }
    producer.join();
  }
  bench::report("ns", (bench::now_ns() - start) / static_cast<double>(count));
  bench::require(sum == count * (count - 1) / 2, "every value arrived once");
}
