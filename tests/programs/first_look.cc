// SPDX-License-Identifier: MIT
// test-labels: checks
// A signal handler of the program interrupts the runtime's first look at a goroutine's frames, and its own check looks again.
// If the first look initialises something lazily, the thread waits for itself for ever.
// The program stands in for dl_iterate_phdr, by which the runtime learns where the program's code is: there the signal
// comes at the worst moment in every run. With TSan a handler is called later, and ASan has a dl_iterate_phdr of its own.
// check: not-in tsan asan
// check: run WEFT_MAXPROCS=1 WEFT_DEBUG=preempt
// check: stdout ^looked
// check: within 20
#include <dlfcn.h>
#include <link.h>
#include <signal.h>

#include <cstdio>

#include <weft/weft.h>

namespace {

using Visit = int (*)(dl_phdr_info*, std::size_t, void*);

volatile sig_atomic_t asked_at_start = 0, asked_by_goroutines = 0, handled = 0;
volatile sig_atomic_t in_goroutine = 0;

__attribute__((noinline)) int count_up(int from) {
  asm volatile("");
  return from == 10 ? 10 : count_up(from + 1);
}

void on_signal(int) {
  if (count_up(0) == 10) handled = handled + 1;
}

}  // namespace

extern "C" int dl_iterate_phdr(Visit visit, void* data) {
  static const auto real = reinterpret_cast<int (*)(Visit, void*)>(dlsym(RTLD_NEXT, "dl_iterate_phdr"));
  if (in_goroutine != 0) {
    asked_by_goroutines = asked_by_goroutines + 1;
    raise(SIGUSR1);
  } else {
    asked_at_start = asked_at_start + 1;
  }
  return real(visit, data);
}

int main() {
  struct sigaction action{};
  action.sa_handler = on_signal;  // without SA_ONSTACK: on the goroutine's stack, where checks look
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  int sum = 0;
  weft::run([&] {
    in_goroutine = 1;
    sum = count_up(0);  // the first check of the process fires, and looks
    raise(SIGUSR1);
    sum += count_up(0);
    in_goroutine = 0;
  });
  if (sum != 20 || handled == 0 || asked_at_start == 0) return 1;
  std::printf("looked, asked %d times at start and %d later\n", static_cast<int>(asked_at_start),
              static_cast<int>(asked_by_goroutines));
  return 0;
}
