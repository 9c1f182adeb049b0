// SPDX-License-Identifier: MIT
#include "trace/cpu_samples.h"

#include <algorithm>
#include <new>

#include "os/memory.h"
#include "trace/batch.h"
#include "trace/format.h"
#include "trace/stack_hash.h"

namespace weft::trace {

bool CpuSamples::reserve() noexcept {
  if (ring_.load_relaxed() != nullptr) return true;
  void* memory = os::reserve_permanent_memory(kCapacity * sizeof(Sample), "weft trace samples");
  if (memory == nullptr) return false;
  ring_.store_release(new (memory) Sample[kCapacity]);  // pairs: trace.samples
  return true;
}

void CpuSamples::add(std::uint64_t time, std::uint64_t thread, std::uint64_t p, std::uint64_t g, void* const* pcs,
                     std::size_t count) noexcept {
  Sample* ring = ring_.load_acquire();  // pairs: trace.samples
  if (ring == nullptr) return;
  std::uint64_t number = taken_.load_relaxed();
  do {
    if (number - written_.load_acquire() >= kCapacity) return;  // pairs: trace.samples_written
  } while (!taken_.cas_acq_rel(number, number + 1));  // pairs: trace.samples_taken
  Sample& sample = ring[number % kCapacity];
  sample.time = time;
  sample.thread = thread;
  sample.p = p;
  sample.g = g;
  sample.count = std::min(count, kFrames);
  std::copy_n(pcs, sample.count, sample.pcs);
  sample.turn.store_release(number / kCapacity + 1);  // pairs: trace.sample
}

CpuSamples::Sample* CpuSamples::filled(std::uint64_t number) noexcept {
  Sample* ring = ring_.load_relaxed();
  if (ring == nullptr || number == taken_.load_acquire()) return nullptr;  // pairs: trace.samples_taken
  Sample& sample = ring[number % kCapacity];
  return sample.turn.load_acquire() == number / kCapacity + 1 ? &sample : nullptr;  // pairs: trace.sample
}

void CpuSamples::forget() noexcept {
  std::uint64_t number = written_.load_relaxed();
  while (filled(number) != nullptr) ++number;
  written_.store_release(number);  // pairs: trace.samples_written
}

void CpuSamples::write(std::uint64_t generation, std::uint64_t time, Tables& tables, std::string& out) {
  if (ring_.load_relaxed() == nullptr) return;
  BatchWriter batch(generation, time, format::Event::kCpuSamples, out);
  std::uint64_t number = written_.load_relaxed();
  for (; const Sample* found = filled(number); ++number) {
    const Sample& sample = *found;
    std::string entry;
    append_number(entry, static_cast<std::uint64_t>(format::Event::kCpuSample));
    append_number(entry, sample.time);
    append_number(entry, sample.thread);
    append_number(entry, sample.p);
    append_number(entry, sample.g);
    append_number(entry, tables.stack(stack_hash({sample.pcs, sample.count}), {sample.pcs, sample.count}));
    batch.add(entry);
  }
  written_.store_release(number);  // pairs: trace.samples_written
  batch.finish();
}

}  // namespace weft::trace
