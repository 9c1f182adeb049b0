// SPDX-License-Identifier: MIT

// preempt: as many goroutines as Ps compute without ever calling the runtime; another wakes every millisecond. Ticks
// are due at fixed times: one that is missed while nobody lets the ticker run counts with its full lateness.
package main

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weftbench/bench"
)

func main() {
	ms := bench.Int("ms", 3000)
	bench.Start()
	var stop atomic.Bool
	go func() { // blocked in the kernel, so that the end does not depend on what is measured
		pause := syscall.NsecToTimespec(int64(*ms) * 1e6)
		for syscall.Nanosleep(&pause, &pause) == syscall.EINTR {
		}
		stop.Store(true)
	}()
	time.Sleep(time.Millisecond)
	var hogs sync.WaitGroup
	hogs.Add(bench.Procs())
	for i := 0; i < bench.Procs(); i++ {
		go func() {
			x := uint64(1)
			for !stop.Load() {
				x = x*6364136223846793005 + 1
			}
			bench.Keep(x)
			hogs.Done()
		}()
	}
	late := make([]float64, *ms)
	due := time.Now()
	for i := range late {
		due = due.Add(time.Millisecond)
		time.Sleep(time.Until(due))
		late[i] = float64(time.Since(due).Nanoseconds()) / 1e6
	}
	hogs.Wait()
	bench.Report("late_p50_ms", bench.Percentile(late, .5))
	bench.Report("late_p99_ms", bench.Percentile(late, .99))
}
