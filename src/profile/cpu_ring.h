// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "sched/state/label_set.h"

// Samples on their way from signal handlers to the profiler's thread.
//   Handlers  may interrupt anything, also each other. One takes a place by a CAS, fills it, and publishes its turn.
//   Full      A sample that finds no place is only counted.
//   Reader    one at a time. It stops at the first place that is not filled yet.
namespace weft::profile {

struct CpuSample {
  static constexpr std::size_t kFrames = 64, kName = 64;
  const sched::LabelSet* labels;  // a reference; null: none
  std::int32_t site;              // where the goroutine was started, relative to spawn_anchor; 0: not known
  std::uint32_t weight;           // periods of the timer that it stands for
  bool on_goroutine;
  std::uint8_t name_length;
  char name[kName];
  std::size_t count;
  void* pcs[kFrames];
};

class CpuRing {
 public:
  bool reserve() noexcept;  // once; false: no memory

  // In a handler: calls fill(CpuSample&).
  template <class F>
  void add(F&& fill) noexcept {
    Place* ring = ring_.load_acquire();  // pairs: profile.ring
    if (ring == nullptr) return;
    std::uint64_t number = taken_.load_relaxed();
    do {
      if (number - read_.load_acquire() >= kCapacity) {  // pairs: profile.read
        lost_.fetch_add_relaxed(1);
        return;
      }
    } while (!taken_.cas_acq_rel(number, number + 1));  // pairs: profile.taken
    Place& place = ring[number % kCapacity];
    fill(place.sample);
    place.turn.store_release(number / kCapacity + 1);  // pairs: profile.sample
  }

  // The reader: calls use(const CpuSample&) for each sample that is there.
  template <class F>
  void drain(F&& use) {
    Place* ring = ring_.load_acquire();  // pairs: profile.ring
    if (ring == nullptr) return;
    for (std::uint64_t number = read_.load_relaxed(); number != taken_.load_acquire(); ++number) {  // pairs: profile.taken
      Place& place = ring[number % kCapacity];
      if (place.turn.load_acquire() != number / kCapacity + 1) return;  // pairs: profile.sample
      use(static_cast<const CpuSample&>(place.sample));
      read_.store_release(number + 1);  // pairs: profile.read
    }
  }
  std::uint64_t take_lost() noexcept { return lost_.exchange_relaxed(0); }

 private:
  static constexpr std::uint64_t kCapacity = 4096;
  struct Place {
    base::Atom<std::uint64_t> turn{0};  // n + 1: filled in the ring's n-th round
    CpuSample sample;
  };
  base::Atom<Place*> ring_{nullptr};
  base::Atom<std::uint64_t> taken_{0};  // by handlers
  base::Atom<std::uint64_t> read_{0};   // by the reader
  base::Atom<std::uint64_t> lost_{0};
};

}  // namespace weft::profile
