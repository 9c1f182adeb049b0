// SPDX-License-Identifier: MIT
#include "os/thread.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <ctime>

#include "os/keep_errno.h"
#include "os/memory.h"

namespace weft::os {
namespace {

constexpr std::size_t kSignalStackSize = 64 * 1024;  // room for a symbolised report

// For a thread that blocks signals for itself alone (never_hear_of): the mask that the threads it starts get.
thread_local constinit bool blocks_alone = false;
thread_local constinit sigset_t blocked_otherwise{};

struct Start {
  void (*entry)(void*);
  void* argument;
  char name[16];
  bool has_mask = blocks_alone;
  sigset_t mask = blocked_otherwise;
};

void* start_routine(void* raw) {
  auto* start = static_cast<Start*>(raw);
  if (start->has_mask) pthread_sigmask(SIG_SETMASK, &start->mask, nullptr);
  pthread_setname_np(pthread_self(), start->name);
  auto* entry = start->entry;
  void* argument = start->argument;
  delete start;
  entry(argument);
  return nullptr;
}

}  // namespace

int start_thread(void (*entry)(void*), void* argument, std::size_t stack_bytes, const char* name) noexcept {
  const KeepErrno keep;
  auto* start = new (std::nothrow) Start{entry, argument, {}};
  if (start == nullptr) return ENOMEM;
  const std::string_view text(name);
  std::copy_n(text.begin(), std::min<std::size_t>(text.size(), sizeof start->name - 1), start->name);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, start_routine, start);
  pthread_attr_destroy(&attributes);
  if (error != 0) delete start;
  return error;
}

StackBounds current_thread_stack() noexcept {
  StackBounds bounds{nullptr, 0};
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &bounds.bottom, &bounds.size);
    pthread_attr_destroy(&attributes);
  }
  return bounds;
}

pid_t thread_id() noexcept { return gettid(); }

void signal_thread(pid_t thread, int signal) noexcept { syscall(SYS_tgkill, getpid(), thread, signal); }

void ask_for_precise_timers() noexcept { prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL); }

void never_hear_of(int signal) noexcept {
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_BLOCK, &one, &before);
  if (!blocks_alone) blocked_otherwise = before;
  blocks_alone = true;
}

void survive_broken_pipes() noexcept { never_hear_of(SIGPIPE); }

int count_threads() noexcept {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return -1;
  int count = 0;
  while (const dirent* entry = readdir(tasks))
    if (entry->d_name[0] != '.') ++count;
  closedir(tasks);
  return count;
}

SignalStack::SignalStack() noexcept {
  stack_t existing{};
  if (sigaltstack(nullptr, &existing) == 0 && !(existing.ss_flags & SS_DISABLE))
    return;  // a sanitizer's, or the user's
  void* memory =
      mmap(nullptr, kSignalStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kSignalStackSize;
  if (sigaltstack(&stack, nullptr) == 0) {
    memory_ = memory;
  } else {
    munmap(memory, kSignalStackSize);
  }
}

StackBounds SignalStack::bounds() const noexcept { return {memory_, memory_ != nullptr ? kSignalStackSize : 0}; }

SignalStack::~SignalStack() {
  if (memory_ == nullptr) return;
  stack_t off{};
  off.ss_flags = SS_DISABLE;
  sigaltstack(&off, nullptr);
  munmap(memory_, kSignalStackSize);
}

}  // namespace weft::os
