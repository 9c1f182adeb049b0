// SPDX-License-Identifier: MIT

// plain_calls: `tasks` goroutines block their thread for `call-us`, again and again, for `ms`: calls a second, and how
// late another goroutine's 1 ms tick is.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"weftbench/bench"
)

func main() {
	tasks, call, ms := bench.Int("tasks", 200), bench.Int("call-us", 5000), bench.Int("ms", 2000)
	bench.Int("announced", 0) // without effect: Go announces every system call
	bench.Start()
	var stop atomic.Bool
	var calls atomic.Int64
	var group sync.WaitGroup
	group.Add(*tasks)
	for i := 0; i < *tasks; i++ {
		go func() {
			defer group.Done()
			for !stop.Load() {
				bench.BlockThread(*call)
				calls.Add(1)
				runtime.Gosched()
			}
		}()
	}
	var late []float64
	start := time.Now()
	for now := start; now.Sub(start) < time.Duration(*ms)*time.Millisecond; {
		time.Sleep(time.Millisecond)
		woken := time.Now()
		late = append(late, float64(woken.Sub(now).Nanoseconds())/1e6-1)
		now = woken
	}
	seconds := time.Since(start).Seconds()
	bench.Require(calls.Load() > 0, "a call came back")
	bench.Report("calls_per_s", float64(calls.Load())/seconds)
	bench.Report("late_p99_ms", bench.Percentile(late, .99))
	bench.Report("late_max_ms", bench.Percentile(late, 1))
	stop.Store(true)
	group.Wait()
}
