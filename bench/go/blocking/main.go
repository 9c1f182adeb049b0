// SPDX-License-Identifier: MIT

// blocking: one computing goroutine per P counts chunks of 20 us, first alone, then beside goroutines that block a
// thread for 1 ms again and again.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weftbench/bench"
)

func measure(blockers int, length time.Duration) (chunkRate, callRate float64) {
	var stop atomic.Bool
	var chunks, calls atomic.Int64
	var all sync.WaitGroup
	all.Add(bench.Procs() + blockers)
	start := time.Now()
	for i := 0; i < bench.Procs(); i++ {
		go func() {
			mine := int64(0)
			for ; !stop.Load(); mine++ {
				bench.Work(20)
				runtime.Gosched()
			}
			chunks.Add(mine)
			all.Done()
		}()
	}
	for i := 0; i < blockers; i++ {
		go func() {
			mine := int64(0)
			for ; !stop.Load(); mine++ {
				pause := syscall.Timespec{Nsec: 1000000}
				syscall.Nanosleep(&pause, nil)
			}
			calls.Add(mine)
			all.Done()
		}()
	}
	time.Sleep(length)
	stop.Store(true)
	all.Wait()
	seconds := time.Since(start).Seconds()
	return float64(chunks.Load()) / seconds, float64(calls.Load()) / seconds
}

func main() {
	blockers, ms := bench.Int("blockers", 8), bench.Int("ms", 1500)
	bench.Start()
	bench.Calibrate()
	length := time.Duration(*ms) * time.Millisecond / 3
	var alone, beside, calls float64
	for slice := 0; slice < 3; slice++ { // alternating: a drift of the machine hits both
		chunks, _ := measure(0, length)
		alone += chunks
		chunks, rate := measure(*blockers, length)
		beside += chunks
		calls += rate / 3
	}
	bench.Report("kept_percent", beside/alone*100)
	bench.Report("calls_per_s", calls)
}
