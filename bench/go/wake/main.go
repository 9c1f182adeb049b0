// SPDX-License-Identifier: MIT

// wake: after a quiet gap, A wakes the waiting B and keeps computing for 2 ms: time until B runs.
package main

import (
	"runtime"
	"sync/atomic"
	"time"

	"weftbench/bench"
)

func main() {
	count, gap, sleep := bench.Int("count", 200), bench.Int("gap-us", 2000), bench.Int("sleep", 1)
	bench.Start()
	bench.Calibrate()
	late := make([]float64, *count)
	event := make(chan time.Time)
	var seen atomic.Int64
	go func() {
		for i := range late {
			at := <-event
			late[i] = float64(time.Since(at).Nanoseconds()) / 1000
			seen.Add(1)
		}
	}()
	runtime.Gosched()
	for i := range late {
		if *sleep != 0 {
			time.Sleep(time.Duration(*gap) * time.Microsecond)
		} else {
			bench.Work(float64(*gap))
		}
		event <- time.Now()
		bench.Work(2000)
		for seen.Load() <= int64(i) {
			runtime.Gosched()
		}
	}
	bench.Report("p50_us", bench.Percentile(late, .5))
	bench.Report("p99_us", bench.Percentile(late, .99))
}
