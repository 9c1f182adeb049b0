// SPDX-License-Identifier: MIT

// blocking-short: system calls that return at once, made in the way that tells the scheduler they may block
// (syscall.Syscall), beyond the same calls made without (syscall.RawSyscall).
package main

import (
	"syscall"
	"time"

	"weftbench/bench"
)

func main() {
	count := bench.Int("count", 100000)
	bench.Start()
	start := time.Now()
	for i := 0; i < *count; i++ {
		syscall.RawSyscall(syscall.SYS_GETPID, 0, 0, 0)
	}
	plain := bench.Per(start, *count)
	switches := bench.VoluntarySwitches()
	start = time.Now()
	for i := 0; i < *count; i++ {
		syscall.Syscall(syscall.SYS_GETPID, 0, 0, 0)
	}
	bench.Report("beyond_ns", bench.Per(start, *count)-plain)
	bench.Report("switches", float64(bench.VoluntarySwitches()-switches)*1000/float64(*count))
}
