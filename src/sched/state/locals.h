// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "sched/frames/user_call.h"
#include "sched/state/label_set.h"

// The values of one goroutine's goroutine_local objects, and its labels.
namespace weft::sched {

class Locals {
 public:
  struct Operations {
    void (*destroy)(void* value) noexcept;
    void* (*copy)(const void* value);  // null: children do not inherit it
  };
  struct Entry {
    const void* key;
    void* value;
    const Operations* operations;
  };

  Locals() = default;
  Locals(const Locals&) = delete;
  ~Locals() { destroy_values(); }

  // Newest first, as the objects of a scope are destroyed. User code runs, and may add values meanwhile.
  void destroy_values() noexcept {
    while (!entries_.empty()) {
      const Entry entry = entries_.back();
      entries_.pop_back();
      call_user(entry.operations->destroy, entry.value);
    }
  }

  void* find(const void* key) const noexcept {
    for (const Entry& entry : entries_)
      if (entry.key == key) return entry.value;
    return nullptr;
  }
  void add(const Entry& entry) { entries_.push_back(entry); }
  bool has_inheritable() const noexcept {
    if (!labels.empty()) return true;
    for (const Entry& entry : entries_)
      if (entry.operations->copy != nullptr) return true;
    return false;
  }
  // The values that a child starts with. Strong guarantee: a copy that throws leaves nothing behind.
  Locals* inherit() const {
    auto* child = new Locals;
    LabelSet::release(child->labels.exchange(labels.share()));
    try {
      for (const Entry& entry : entries_) {
        if (entry.operations->copy == nullptr) continue;
        child->entries_.reserve(child->entries_.size() + 1);
        child->entries_.push_back({entry.key, entry.operations->copy(entry.value), entry.operations});
      }
    } catch (...) {
      delete child;
      throw;
    }
    return child;
  }

  LabelHolder labels;

 private:
  std::vector<Entry> entries_;
};

}  // namespace weft::sched
