// SPDX-License-Identifier: MIT

// busy: one goroutine computes, nothing else is there to do: CPU time beyond that one core. The goroutine keeps its
// thread so that the thread's own clock can be taken off.
package main

import (
	"runtime"
	"time"

	"weftbench/bench"
)

func main() {
	ms := bench.Int("ms", 1000)
	bench.Start()
	bench.Calibrate()
	done := make(chan struct{})
	go close(done)
	<-done
	runtime.LockOSThread()
	all, mine, start := bench.CPU(), bench.ThreadCPU(), time.Now()
	bench.Work(float64(*ms) * 1000)
	beyond := bench.CPU() - all - (bench.ThreadCPU() - mine)
	bench.Report("beyond_percent", beyond.Seconds()/time.Since(start).Seconds()*100)
}
