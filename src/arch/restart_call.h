// SPDX-License-Identifier: MIT
#pragma once

// Restarts a system call that our signal interrupted and that the kernel does not restart although the handler asks for
// it (SA_RESTART): a wait with a time limit. The handler lets the interrupted thread make the call again, so that the
// user never sees EINTR for a signal of the runtime.
//   How        the interrupted code stands behind a `syscall` instruction with -EINTR as its result. The arguments are
//              still in their registers. The number is in an instruction before, or on the stack. Only calls that have
//              done nothing when they are interrupted are made again.
//   Time       where the kernel says how much is left (select, ppoll, nanosleep), the call waits for the rest.
//              Otherwise (poll, epoll_wait, sockets with a time limit) it waits the whole time again, of which little
//              has passed, because sysmon signals early in a call (service/sysmon.cc). A sleep whose caller does not
//              want to know the rest (usleep) is made again in full once, with a place of ours for the rest. So it
//              takes at most its time and what had passed before the first signal, however many follow.
//   aarch64    the number is still in its register, the first argument is not: arch/first_argument.h finds it.
//   One place  glibc from 2.41 on makes all these calls in two functions. On x86-64 the number is a stack argument of
//              the outer function, which is found by unwinding. On aarch64 nothing there keeps the first argument.
//   Not seen   calls by syscall(2), calls by C libraries that write them otherwise, and on aarch64 those by glibc from
//              2.41 on.
//   Rejected   asking the kernel for the number (/proc/self/task/T/syscall) before the signal is sent. The thread may
//              be in another call when the signal comes, with the same arguments at the same place: a read instead of a
//              write.
namespace weft::arch {

// Called in the handler. True: the call will be made again when the handler returns.
bool restart_interrupted_call(void* ucontext, bool may_unwind) noexcept;

}  // namespace weft::arch
