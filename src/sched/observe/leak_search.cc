// SPDX-License-Identifier: MIT
#include "sched/observe/leak_search.h"

#include <algorithm>
#include <utility>

#include "arch/interrupted_frame.h"
#include "os/heap_map.h"
#include "os/memory.h"
#include "os/memory_map.h"
#include "os/peek.h"
#include "sched/core/hold.h"
#include "sched/model/hooks.h"
#include "sched/observe/leak_graph.h"
#include "sched/observe/standstill.h"
#include "sched/observe/unstarted.h"
#include "sched/state/scheduler.h"

namespace weft::sched {
namespace {

struct Span {
  std::uintptr_t begin, end;
  bool is_private = true;
};

std::uintptr_t address_of(const void* pointer) noexcept { return reinterpret_cast<std::uintptr_t>(pointer); }

// Somebody who waits for an object: alive as soon as the object is.
struct Watch {
  std::uintptr_t object;
  LeakGraph::Member* member;
};

class Search {
 public:
  explicit Search(const LeakSearch& how) noexcept : how_(how) {}

  std::size_t run(Goroutine** out, std::size_t max) noexcept {
    // First, because the search's own memory must not be searched.
    if (!list_mappings() || !graph_.open() || !heap_.open(how_.heap_mark) || !open_lists()) return kNoMemory;
    list_records();
    for (std::size_t i = 0; i < mapping_count_; ++i) add(mappings_[i]);
    if (heap_.failed() || lists_full_ || !open_work()) return kNoMemory;
    visit_timers([this](Goroutine* sleeper) { graph_.set_timed(sleeper); },
                 [this](const void* timer) { graph_.set_timed_by(timer); });
    graph_.find_cycles();
    watch();
    follow_roots();
    drain();
    return graph_.collect(out, max);
  }

 private:
  static constexpr std::size_t kMaxSpans = std::size_t{1} << 20;
  static constexpr std::size_t kBuffer = 64 * 1024;

  // --- what there is ---
  template <class T>
  static T* reserve(std::size_t count) noexcept {
    return static_cast<T*>(os::reserve_memory((count + 1) * sizeof(T), "weft leak search"));
  }
  bool list_mappings() noexcept {
    mappings_ = reserve<os::Mapping>(kMaxSpans);
    const auto keep = [](void* self, const os::Mapping& one) {
      auto& search = *static_cast<Search*>(self);
      if (search.mapping_count_ < kMaxSpans) search.mappings_[search.mapping_count_++] = one;
    };
    return mappings_ != nullptr && os::visit_memory_map(keep, this) && mapping_count_ < kMaxSpans;
  }
  bool open_lists() noexcept {
    roots_ = reserve<Span>(kMaxSpans);
    slabs_ = reserve<Span>(kMaxSpans);
    skipped_ = reserve<Span>(kMaxSpans);
    buffer_ = reserve<std::uintptr_t>(kBuffer / sizeof(std::uintptr_t));
    return buffer_ != nullptr && roots_ != nullptr && slabs_ != nullptr && skipped_ != nullptr;
  }
  // Each block, record and stack is put there once, when it is marked.
  bool open_work() noexcept {
    const std::size_t records = record_count_;
    work_ = reserve<Span>(heap_.bytes() / 32 + records + 2 * graph_.size() + kMaxSpans);
    watches_ = reserve<Watch>(graph_.wakers());
    return work_ != nullptr && watches_ != nullptr;
  }
  void push_to(Span* list, std::size_t& count, Span one) noexcept {
    if (one.begin >= one.end) return;
    if (count == kMaxSpans) {
      lists_full_ = true;
      return;
    }
    list[count++] = one;
  }

  // Records lie in slabs; free ones keep old closures, which must not count.
  void list_records() noexcept {
    const auto by_begin = [](const Span& one, const Span& other) { return one.begin < other.begin; };
    scheduler.records.for_each_slab_unlocked([this](const void* begin, const void* end) {
      push_to(slabs_, slab_count_, {address_of(begin), address_of(end)});
      record_count_ += (address_of(end) - address_of(begin)) / sizeof(SpawnRecord);
    });
    std::sort(slabs_, slabs_ + slab_count_, by_begin);
    first_record_ = reserve<std::size_t>(slab_count_);
    record_marks_ = reserve<std::uint8_t>(record_count_);
    if (first_record_ == nullptr || record_marks_ == nullptr) {
      lists_full_ = true;
      return;
    }
    std::size_t before = 0;
    for (std::size_t i = 0; i < slab_count_; ++i) {
      first_record_[i] = before;
      before += (slabs_[i].end - slabs_[i].begin) / sizeof(SpawnRecord);
    }
    for (std::uint32_t i = 0; i < scheduler.processors_made.load_relaxed(); ++i) {
      const Processor& p = *scheduler.processors[i];
      free_records(p.records);
      free_records(p.spare_records);
    }
    scheduler.stacks.for_each([this](const Goroutine* g) {
      if (g->status.load_relaxed() == GStatus::kDead || g->record == nullptr) return;
      if (std::uint8_t* mark = record_mark(address_of(g->record))) *mark |= kClosure;
    });
    scheduler.records.for_each_shared_chain_unlocked([this](const SpawnRecord* first) { free_records(first); });
    list_skipped();
    std::sort(skipped_, skipped_ + skipped_count_, by_begin);
  }
  void free_records(const SpawnRecord* first) noexcept {
    for (std::size_t limit = record_count_; first != nullptr && limit > 0; --limit) {
      if (std::uint8_t* mark = record_mark(address_of(first))) *mark = kFree;
      first = reinterpret_cast<const SpawnRecord*>(first->link);
    }
  }
  std::uint8_t* record_mark(std::uintptr_t address) noexcept {
    if (slab_count_ == 0 || address < slabs_[0].begin || address >= slabs_[slab_count_ - 1].end) return nullptr;
    const Span* after = std::upper_bound(slabs_, slabs_ + slab_count_, address,
                                         [](std::uintptr_t at, const Span& slab) { return at < slab.begin; });
    const Span& slab = after[-1];
    if (address >= slab.end) return nullptr;
    return record_marks_ + first_record_[after - 1 - slabs_] + (address - slab.begin) / sizeof(SpawnRecord);
  }

  // Memory that is looked at by other means, or that has no pointers of the user's: stacks of goroutines, records, and
  // the scheduler's own state.
  void list_skipped() noexcept {
    const auto skip = [this](const void* begin, const void* end) {
      push_to(skipped_, skipped_count_, {address_of(begin), address_of(end)});
    };
    for (std::size_t i = 0; i < slab_count_; ++i) push_to(skipped_, skipped_count_, slabs_[i]);
    scheduler.stacks.for_each_region([&](const void* begin, const void* end) { skip(begin, end); });
    skip(&scheduler, &scheduler + 1);
    skip(mappings_, mappings_ + kMaxSpans + 1);
    skip(how_.threads->begin(), how_.threads->end());
    for (std::uint32_t i = 0; i < scheduler.processors_made.load_relaxed(); ++i)
      skip(scheduler.processors[i], scheduler.processors[i] + 1);
    for (const Machine* m = scheduler.all_machines; m != nullptr; m = m->all_next) {
      skip(m, m + 1);
      const auto* signals = static_cast<const std::byte*>(m->signal_stack.bottom);
      if (m->guard_slot != nullptr && signals != nullptr) skip(signals, signals + m->signal_stack.size);
    }
  }

  void add(const os::Mapping& mapping) noexcept {
    if (!mapping.is_writable || mapping.is_device || mapping.is_file_share) return;
    if (is_skipped(mapping)) return;
    const os::HeapMap::Remainder rest = heap_.add(mapping);
    add_root({rest.before.begin, rest.before.end});
    Span behind{rest.behind.begin, rest.behind.end, mapping.is_private};
    if (mapping.is_guarded || mapping.is_stack) behind.begin = std::max(behind.begin, lowest_sp_in(behind));
    add_root(behind);
  }
  const Span* first_skipped(std::uintptr_t at) const noexcept {
    return std::upper_bound(skipped_, skipped_ + skipped_count_, at,
                            [](std::uintptr_t address, const Span& skipped) { return address < skipped.end; });
  }
  bool is_skipped(const os::Mapping& mapping) const noexcept {
    const Span* first = first_skipped(mapping.begin);
    return first != skipped_ + skipped_count_ && first->begin <= mapping.begin && first->end >= mapping.end;
  }
  // Below its stack pointer a thread's stack has old values only. 0: no thread's stack is there.
  std::uintptr_t lowest_sp_in(Span span) const noexcept {
    std::uintptr_t lowest = UINTPTR_MAX;
    const auto look_at = [&](std::uintptr_t sp) {
      if (sp >= span.begin && sp < span.end) lowest = std::min(lowest, sp & ~std::uintptr_t{7});
    };
    for (const StandingThread& thread : *how_.threads) look_at(thread.sp);
    look_at(address_of(how_.frame));
    return lowest == UINTPTR_MAX ? 0 : lowest;
  }
  // Without the parts that are to be skipped.
  void add_root(Span root) noexcept {
    const Span* first = first_skipped(root.begin);
    for (; first != skipped_ + skipped_count_ && first->begin < root.end && root.begin < root.end; ++first) {
      const Span& skipped = *first;
      push_to(roots_, root_count_, {root.begin, skipped.begin, root.is_private});
      root.begin = skipped.end;
    }
    push_to(roots_, root_count_, root);
  }

  template <class Sleepers, class Timers>
  static void visit_timers(Sleepers sleepers, Timers timers) noexcept {
    for (std::uint32_t i = 0; i < scheduler.processors_made.load_relaxed(); ++i)
      scheduler.processors[i]->timers.for_each_unlocked(sleepers, timers);
  }

  // --- who waits for what ---
  void watch() noexcept {
    graph_.for_each_waker([this](LeakGraph::Member& member, const WakeSource& waker) {
      if (waker.kind == WakeSource::Kind::kAnybody) return graph_.awake(member);
      if (waker.kind == WakeSource::Kind::kGoroutine) return;  // the graph sees to it
      watch_object(member, address_of(waker.object));
    });
    std::sort(watches_, watches_ + watch_count_,
              [](const Watch& one, const Watch& other) { return one.object < other.object; });
  }
  void watch_object(LeakGraph::Member& member, std::uintptr_t object) noexcept {
    if (const os::HeapMap::Block block = heap_.find(object)) {
      heap_.watch(block);
      watches_[watch_count_++] = {block.begin, &member};
    } else if (std::uint8_t* mark = record_mark(object)) {
      *mark |= kWatched;
      watches_[watch_count_++] = {object / sizeof(SpawnRecord) * sizeof(SpawnRecord), &member};
    } else if (Goroutine* owner = scheduler.stacks.find(reinterpret_cast<const void*>(object)).g) {
      if (owner != member.g) graph_.follow(member, owner);  // on its own stack: reached like the stack
    } else {
      graph_.awake(member);  // a global object
    }
  }
  void reached(std::uintptr_t object) noexcept {
    const Watch* one = std::lower_bound(watches_, watches_ + watch_count_, object,
                                        [](const Watch& watch, std::uintptr_t at) { return watch.object < at; });
    for (; one != watches_ + watch_count_ && one->object == object; ++one) graph_.awake(*one->member);
  }

  // --- what is reached ---
  void follow_roots() noexcept {
    for (std::size_t i = 0; i < root_count_; ++i) scan_root(roots_[i]);
    for (const StandingThread& thread : *how_.threads)
      if (const void* context = thread.context.load_acquire()) scan_context(context);  // pairs: standstill.context
    visit_timers([](Goroutine*) {}, [this](const void* timer) { look_at(address_of(timer)); });
    const auto unstarted = [](void* self, Runnable one) {
      if (one && one.is_record()) static_cast<Search*>(self)->look_at_closure(one.record());
    };
    visit_unstarted_unlocked(unstarted, this);
    for (const Machine* m = scheduler.all_machines; m != nullptr; m = m->all_next) {
      if (is_held(m->hold)) scan_context(m->hold.context.load_relaxed());
      unstarted(this, m->handed);
      unstarted(this, m->next_runnable);
    }
    scheduler.stacks.for_each([this](Goroutine* g) {
      if (g->status.load_relaxed() != GStatus::kDead && graph_.find(g) == nullptr) scan_stack(g);
    });
  }
  // Pages that were never written have no pointers, and some of them may not be read.
  void scan_root(Span root) noexcept {
    if (!root.is_private) return scan_readable(root);
    os::visit_populated(root.begin, root.end, [](void* self, std::uintptr_t begin, std::uintptr_t end) {
      static_cast<Search*>(self)->scan_readable({begin, end});
    }, this);
  }
  void scan_readable(Span span) noexcept {
    while (span.begin < span.end) {
      const std::size_t got = os::peek(buffer_, span.begin, std::min<std::size_t>(kBuffer, span.end - span.begin));
      scan({address_of(buffer_), address_of(buffer_) + got});
      span.begin = got > 0 ? span.begin + got : (span.begin / os::kPage + 1) * os::kPage;  // behind the guard
    }
  }
  void look_at_closure(const SpawnRecord* record) noexcept {
    std::uint8_t* mark = record_mark(address_of(record));
    if (mark == nullptr) return look_at(address_of(record));
    *mark |= kClosure;
    mark_record(*mark, address_of(record));
  }
  void mark_record(std::uint8_t& mark, std::uintptr_t record) noexcept {
    if ((mark & (kFree | kMarked)) != 0) return;
    mark |= kMarked;
    const bool is_closure = (mark & kClosure) != 0;  // then the words in front of it link free records
    work_[work_count_++] = {record + (is_closure ? offsetof(SpawnRecord, closure) : 0), record + sizeof(SpawnRecord)};
    if ((mark & kWatched) != 0) reached(record);
  }
  void scan_context(const void* context) noexcept {
    scan({address_of(context), address_of(context) + arch::bytes_of_context()});
    if (const arch::SavedVectors vectors = arch::saved_vectors(context); vectors.begin != nullptr)
      scan({address_of(vectors.begin), address_of(vectors.end)});
  }
  // With the G, which has the record, the locals and the exceptions in flight.
  void scan_stack(Goroutine* g) noexcept {
    if (g->record != nullptr) look_at_closure(g->record);
    const std::uintptr_t end = address_of(g + 1), frame = address_of(how_.frame);
    const void* sp = g->sp.load_acquire();  // pairs: goroutine.sp
    if (sp != nullptr) return scan({address_of(sp), end});
    const std::uintptr_t bottom = address_of(g->stack_bottom);
    scan({frame >= bottom && frame < end ? frame : bottom, end});
  }
  void drain() noexcept {
    for (;;) {
      if (work_count_ > 0) {
        scan(work_[--work_count_]);
      } else if (LeakGraph::Member* member = graph_.next_awake()) {
        scan_stack(member->g);
      } else {
        return;
      }
    }
  }
  __attribute__((no_sanitize("address", "thread"))) void scan(Span span) noexcept {
    for (std::uintptr_t at = (span.begin + 7) & ~std::uintptr_t{7}; at + 8 <= span.end; at += 8)
      look_at(*reinterpret_cast<const volatile std::uintptr_t*>(at));
  }
  void look_at(std::uintptr_t word) noexcept {
    if (word < os::kPage) return;
    if (const os::HeapMap::Block block = heap_.find(word)) {
      if (!heap_.mark(block)) return;
      work_[work_count_++] = {block.begin, block.end};
      if (heap_.is_watched(block)) reached(block.begin);
    } else if (std::uint8_t* mark = record_mark(word)) {
      // A Runnable has marks in its low bits. The address of the record of a goroutine is the runtime's, too: the user
      // has only that of the closure in it.
      const std::uintptr_t offset = word % sizeof(SpawnRecord);
      const bool is_runtimes = offset < offsetof(SpawnRecord, closure) && (*mark & kClosure) != 0;
      if (!is_runtimes && (offset == 0 || offset >= 4)) mark_record(*mark, word - offset);
    } else if (Goroutine* g = scheduler.stacks.find(reinterpret_cast<const void*>(word)).g) {
      graph_.reach_stack(g, word);
    }
  }

  static constexpr std::uint8_t kFree = 1, kMarked = 2, kWatched = 4, kClosure = 8;
  const LeakSearch how_;
  LeakGraph graph_;
  os::HeapMap heap_;
  Span *roots_ = nullptr, *slabs_ = nullptr, *skipped_ = nullptr, *work_ = nullptr;
  std::size_t root_count_ = 0, slab_count_ = 0, skipped_count_ = 0, work_count_ = 0;
  std::size_t* first_record_ = nullptr;
  std::uint8_t* record_marks_ = nullptr;
  std::size_t record_count_ = 0;
  Watch* watches_ = nullptr;
  std::size_t watch_count_ = 0;
  std::uintptr_t* buffer_ = nullptr;
  os::Mapping* mappings_ = nullptr;
  std::size_t mapping_count_ = 0;
  bool lists_full_ = false;
};

}  // namespace

std::size_t find_leaked(const LeakSearch& how, Goroutine** out, std::size_t max) noexcept {
  return Search(how).run(out, max);
}

}  // namespace weft::sched
