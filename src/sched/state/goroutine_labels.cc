// SPDX-License-Identifier: MIT
#include "sched/state/goroutine_labels.h"

#include <cstdint>
#include <memory>
#include <mutex>

#include "sched/state/locals.h"

namespace weft::sched {
namespace {

constexpr std::size_t kLocks = 32;
constinit LabelLock locks[kLocks];

}  // namespace

LabelLock& label_lock_of(const Goroutine* g) noexcept {
  return locks[(reinterpret_cast<std::uintptr_t>(g) * 0x9e3779b97f4a7c15u >> 32) % kLocks];
}

const LabelSet* share_labels_of(const Goroutine* g) noexcept {
  const std::lock_guard guard(label_lock_of(g));
  return g->locals != nullptr ? g->locals->labels.share() : nullptr;
}

std::string labels_text_of(const Goroutine* g) {
  const std::unique_ptr<const LabelSet, void (*)(const LabelSet*)> set(share_labels_of(g), LabelSet::release);
  return set != nullptr ? set->text() : std::string();
}

}  // namespace weft::sched
