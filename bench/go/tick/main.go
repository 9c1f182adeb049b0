// SPDX-License-Identifier: MIT

// tick: one goroutine wakes every millisecond; CPU time and lateness.
package main

import (
	"time"

	"weftbench/bench"
)

func main() {
	ticks := bench.Int("ms", 3000)
	bench.Start()
	var late []float64
	cpu, start := bench.CPU(), time.Now()
	due := start
	for i := 0; i < *ticks; i++ {
		due = due.Add(time.Millisecond)
		time.Sleep(time.Until(due))
		late = append(late, float64(time.Since(due).Nanoseconds())/1000)
	}
	bench.Report("cpu_ms_per_s", (bench.CPU()-cpu).Seconds()/time.Since(start).Seconds()*1000)
	bench.Report("late_p50_us", bench.Percentile(late, .5))
}
