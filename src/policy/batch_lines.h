// SPDX-License-Identifier: MIT
#pragma once
#include <utility>

#include "os/memory.h"
#include "sched/queue/batch_queue.h"
#include "sched/state/scheduler.h"

// The batches of one P that do not run now, and how much work waits in all of them.
//   Lines    `front`: batches that go on with the run of the active one. `waiting`: the others, in order. `newest`:
//            private until the next one comes (only with KRoC's rules).
//   Counts   offered: goroutines in visible batches. It is raised before a batch becomes visible and lowered after it
//            was taken, so it is never 0 while a batch is visible (offers() relies on that).
//            invisible: goroutines in `front`, `waiting` and `newest` that thieves cannot take. The owner's.
//   Memory   Headers come from pages that are never given back. Without memory a list does not become a batch, and the
//            caller keeps it.
namespace weft::policy {

class BatchLines {
 public:
  using Queue = sched::BatchQueue<sched::RunnableList>;
  using Line = Queue::Fifo;

  // --- owner ---
  // The list, which is not empty, becomes a batch at the end of the line. False: no memory, the list is unchanged.
  bool push(sched::Processor& p, Line& line, sched::RunnableList& list) noexcept {
    if (WEFT_UNLIKELY(!queue_.has_header()) && !make_headers()) return false;
    const auto size = static_cast<std::uint32_t>(list.size());
    Queue::Header* const header = queue_.push(line, std::exchange(list, {}));
    show(p, header, size);
    return true;
  }
  // As push() at the end of `waiting`, but the list stays private, and the private one before it becomes visible.
  bool push_newest(sched::Processor& p, sched::RunnableList& list) noexcept {
    if (!newest_.empty()) {
      invisible_ -= static_cast<std::uint32_t>(newest_.size());
      if (!push(p, waiting, newest_)) {
        list.append(newest_);
        return false;
      }
    }
    newest_ = std::exchange(list, {});
    invisible_ += static_cast<std::uint32_t>(newest_.size());
    return true;
  }
  // The oldest batch of the line that is still here. False: none is.
  bool pop(Line& line, sched::RunnableList& out) noexcept {
    bool was_visible = false;
    if (!queue_.pop(line, out, was_visible)) return false;
    const auto size = static_cast<std::uint32_t>(out.size());
    if (was_visible) {
      offered_.fetch_add_relaxed(0 - size);
    } else {
      invisible_ -= size;
    }
    return true;
  }
  bool pop_newest(sched::RunnableList& out) noexcept {
    if (newest_.empty()) return false;
    out = std::exchange(newest_, {});
    invisible_ -= static_cast<std::uint32_t>(out.size());
    return true;
  }
  // A batch that has been pushed out of the window becomes visible again. Returns the number of its goroutines.
  std::uint32_t show_one_again(sched::Processor& p) noexcept {
    constexpr int kLooks = 8;  // the first ones of the line were pushed out first
    Queue::Header* header = waiting.first();
    for (int i = 0; header != nullptr && i < kLooks; ++i, header = header->next) {
      if (header->slot != 0) continue;
      const auto size = static_cast<std::uint32_t>(header->contents.size());
      invisible_ -= size;
      show(p, header, size);
      return size;
    }
    return 0;
  }
  bool nothing_waits() const noexcept { return front.empty() && waiting.empty() && newest_.empty(); }
  std::uint32_t invisible() const noexcept { return invisible_; }

  // --- any thread ---
  std::uint32_t offered() const noexcept { return offered_.load_relaxed(); }
  // Takes a whole batch. False: none was visible.
  bool steal(sched::RunnableList& out) noexcept {
    if (offered() == 0 || !queue_.steal(out)) return false;
    offered_.fetch_add_relaxed(0 - static_cast<std::uint32_t>(out.size()));
    return true;
  }

  // While the owner is stopped and no thief is at work.
  void visit(sched::Visitor visitor) const noexcept {
    const auto visit_list = [&](const sched::RunnableList& list) { list.for_each(visitor); };
    queue_.for_each(front, visit_list);
    queue_.for_each(waiting, visit_list);
    visit_list(newest_);
  }

  Line front, waiting;

 private:
  void show(sched::Processor& p, Queue::Header* header, std::uint32_t size) noexcept {
    offered_.fetch_add_relaxed(size);
    if (const Queue::Header* hidden = queue_.show(header)) {
      const auto hidden_size = static_cast<std::uint32_t>(hidden->contents.size());
      offered_.fetch_add_relaxed(0 - hidden_size);
      invisible_ += hidden_size;
    }
    p.counters.bump(sched::Counter::kBatchesOffered);
  }
  __attribute__((noinline)) bool make_headers() noexcept {
    constexpr std::size_t kBytes = 16384;
    auto* memory = static_cast<std::byte*>(os::reserve_permanent_memory(kBytes, "weft batches"));
    if (memory == nullptr) return false;
    for (std::size_t at = 0; at < kBytes; at += sizeof(Queue::Header))
      queue_.give_header(new (memory + at) Queue::Header);
    return true;
  }

  Queue queue_;
  sched::RunnableList newest_;
  std::uint32_t invisible_ = 0;
  alignas(base::kCacheLine) base::Atom<std::uint32_t> offered_{0};
};

}  // namespace weft::policy
