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
	// Ten batches of each kind in turn, the fastest of each counts: a difference of two times is easily drowned in noise.
	batch := *count / 10
	plain, announced := time.Hour, time.Hour
	sleeps := int64(0)
	for b := 0; b < 10; b++ {
		start := time.Now()
		for i := 0; i < batch; i++ {
			syscall.RawSyscall(syscall.SYS_GETPID, 0, 0, 0)
		}
		plain = min(plain, time.Since(start))
		before := bench.VoluntarySwitches()
		start = time.Now()
		for i := 0; i < batch; i++ {
			syscall.Syscall(syscall.SYS_GETPID, 0, 0, 0)
		}
		announced = min(announced, time.Since(start))
		sleeps += bench.VoluntarySwitches() - before
	}
	bench.Report("beyond_ns", float64((announced-plain).Nanoseconds())/float64(batch))
	bench.Report("switches", float64(sleeps)*1000/float64(*count))
}
