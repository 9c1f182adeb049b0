// SPDX-License-Identifier: MIT

// timers: create timers with a function to call in an hour, stop them all, then create and stop one at a time.
package main

import (
	"time"

	"weftbench/bench"
)

func main() {
	count := bench.Int("count", 1000000)
	bench.Start()
	nothing := func() {}
	timers := make([]*time.Timer, *count)
	start := time.Now()
	for i := range timers {
		timers[i] = time.AfterFunc(time.Hour+time.Duration(i*7919%*count)*time.Microsecond, nothing)
	}
	bench.Report("create_ns", bench.Per(start, *count))
	stopped := 0
	start = time.Now()
	for _, timer := range timers {
		if timer.Stop() {
			stopped++
		}
	}
	bench.Report("stop_ns", bench.Per(start, *count))
	bench.Require(stopped == *count, "no timer had fired")
	start = time.Now()
	for i := 0; i < *count; i++ {
		time.AfterFunc(time.Hour, nothing).Stop()
	}
	bench.Report("churn_ns", bench.Per(start, *count))
}
