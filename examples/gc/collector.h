// SPDX-License-Identifier: MIT
#pragma once
// A collected heap for goroutines: Boehm's collector, told by weft when the world stands still and where the roots are.
//
//   Allocate   collected<T>(...) on any goroutine. Pointers to such objects may be kept in variables of goroutines, closures,
//              globals and other collected objects; not in memory of malloc or new, into which the collector does not look.
//   Collect    by a thread of its own. weft stops every goroutine at a safe point, or in the middle of code without
//              checks; those in weft::blocking go on as threads, and are stopped by a signal while roots are scanned.
//   Lock       nobody is stopped while it allocates, with Boehm's lock, which the collection needs: a region without
//              preemption.
//   Why so     Boehm's own way to stop threads assumes that a thread stays on its stack. Goroutines do not: so the threads of
//              the runtime are not registered with it, it never collects by itself, and the stacks come from for_each_root.
#define GC_THREADS
#define GC_NO_THREAD_REDIRECTS
#include <gc/gc.h>
#include <gc/gc_mark.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include <weft/go.h>
#include <weft/runtime.h>

namespace gc {

struct collection {
  std::int64_t stop_ns;       // from the wish to the world standing still
  std::int64_t work_ns;       // marking, and finding what is free
  std::size_t before, after;  // bytes in use
};

// Threads outside are frozen in a signal handler, which shows what they had in registers.
class freezer {
 public:
  freezer() {
    struct sigaction action{};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    sigaction(signal_number(), &action, nullptr);
  }
  // Every thread stands still, or has ended, when this returns.
  void freeze(const std::vector<int>& threads) {
    arrived.store(0);
    contexts.assign(threads.size(), nullptr);  // written by handlers: not resized until they are gone
    std::size_t asked = 0;
    for (const int thread : threads)
      if (syscall(SYS_tgkill, getpid(), thread, signal_number()) == 0) ++asked;
    while (arrived.load() < asked) {
      std::size_t there = 0;
      for (const int thread : threads) there += syscall(SYS_tgkill, getpid(), thread, 0) == 0 ? 1 : 0;
      if (there < asked) asked = there;  // one ended before the signal reached it
      std::this_thread::yield();
    }
  }
  template <class F>
  void for_each_context(F&& visit) {
    for (const ucontext_t* context : contexts)
      if (context != nullptr) visit(context, context + 1);
  }
  void release() {
    turn.fetch_add(1);
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
  }

 private:
  static int signal_number() { return SIGRTMIN + 3; }
  static void handler(int, siginfo_t*, void* context) {
    const int saved = errno;
    const std::size_t place = next.fetch_add(1) % (contexts.empty() ? 1 : contexts.size());
    if (!contexts.empty()) contexts[place] = static_cast<const ucontext_t*>(context);
    const std::uint32_t since = turn.load();
    arrived.fetch_add(1);
    while (turn.load() == since) syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, since, nullptr, nullptr, 0);
    errno = saved;
  }
  static inline std::vector<const ucontext_t*> contexts;
  static inline std::atomic<std::size_t> arrived{0}, next{0};
  static inline std::atomic<std::uint32_t> turn{0};  // the next one releases who waits
};

class collector {
 public:
  explicit collector(std::size_t bytes_between_collections, std::function<void(const collection&)> report)
      : limit_(bytes_between_collections), report_(std::move(report)) {
    GC_INIT();
    GC_allow_register_threads();
    GC_set_disable_automatic_collection(1);
    the_one = this;
    push_others_ = GC_get_push_other_roots();
    GC_set_push_other_roots(push_roots);
    GC_set_on_collection_event(on_event);
    thread_ = std::thread([this] { serve(); });
  }
  ~collector() {
    {
      const std::lock_guard guard(mutex_);
      ending_ = true;
    }
    wanted_.notify_one();
    thread_.join();
    GC_set_on_collection_event(nullptr);
    GC_set_push_other_roots(push_others_);
    the_one = nullptr;
  }
  collector(const collector&) = delete;

  void* allocate(std::size_t bytes) {
    if (GC_get_bytes_since_gc() > limit_ && !asked_.exchange(true)) {
      const std::lock_guard guard(mutex_);
      wanted_.notify_one();
    }
    void* memory = allocate_undisturbed(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }

  static void* allocate_undisturbed(std::size_t bytes) {
    const weft::no_preempt region;
    return GC_MALLOC(bytes);
  }

  // For a demonstration of what the roots are good for: the stacks of goroutines are not scanned.
  void forget_roots() { blind_ = true; }

  static inline collector* the_one = nullptr;

 private:
  using clock = std::chrono::steady_clock;

  void serve() {
    GC_stack_base base;
    GC_get_stack_base(&base);
    GC_register_my_thread(&base);
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wanted_.wait(lock, [this] { return ending_ || asked_.load(); });
        if (ending_) break;
      }
      collect();
      asked_ = false;
    }
    GC_unregister_my_thread();
  }

  void collect() {
    collection result{};
    const auto began = clock::now();
    weft::runtime::stop_the_world([&] {
      const auto stopped = clock::now();
      result.stop_ns = std::chrono::nanoseconds(stopped - began).count();
      result.before = in_use();
      GC_gcollect();
      result.after = in_use();
      result.work_ns = std::chrono::nanoseconds(clock::now() - stopped).count();
    });
    report_(result);
  }

  static std::size_t in_use() { return GC_get_heap_size() - GC_get_free_bytes(); }

  // With Boehm's lock held: nobody who is frozen holds it. Roots are listed before: the list takes locks of the runtime.
  static void on_event(GC_EventType event) {
    collector& self = *the_one;
    if (event == GC_EVENT_PRE_STOP_WORLD) {
      self.roots_.clear();
      self.outside_.clear();
      weft::runtime::for_each_root([&](const weft::runtime::root_range& root) {
        self.roots_.push_back(root);
        if (root.thread != 0) self.outside_.push_back(root.thread);
      });
      self.freezer_.freeze(self.outside_);
    } else if (event == GC_EVENT_POST_START_WORLD) {
      self.freezer_.release();
    }
  }

  static void push_roots() {
    collector& self = *the_one;
    self.push_others_();
    if (self.blind_) return;
    for (const auto& root : self.roots_) push(root.begin, root.end);
    self.freezer_.for_each_context([](const void* begin, const void* end) { push(begin, end); });
  }
  static void push(const void* begin, const void* end) {
    const auto first = (reinterpret_cast<std::uintptr_t>(begin) + 7) & ~std::uintptr_t{7};
    const auto last = reinterpret_cast<std::uintptr_t>(end) & ~std::uintptr_t{7};
    GC_push_all_eager(reinterpret_cast<void*>(first), reinterpret_cast<void*>(last));
  }

  const std::size_t limit_;
  std::function<void(const collection&)> report_;
  bool blind_ = false;
  GC_push_other_roots_proc push_others_ = nullptr;
  freezer freezer_;
  std::vector<weft::runtime::root_range> roots_;
  std::vector<int> outside_;
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::atomic<bool> asked_{false};
  bool ending_ = false;
  std::thread thread_;
};

// A T that lives as long as somebody points to it. Its destructor never runs.
template <class T, class... A>
T* collected(A&&... arguments) {
  return new (collector::the_one->allocate(sizeof(T))) T{std::forward<A>(arguments)...};
}

}  // namespace gc
