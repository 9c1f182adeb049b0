// SPDX-License-Identifier: MIT

// wake_calls: a goroutine starts another, both block their thread for `delay-us` in a system call, and meet (Go's
// WakeupParallelSyscall).
package main

import (
	"sync"

	"weftbench/bench"
)

func main() {
	count, delay := bench.Int("count", 3000), bench.Int("delay-us", 20)
	bench.Start()
	meter := bench.NewMeter()
	for i := 0; i < *count; i++ {
		var group sync.WaitGroup
		group.Add(1)
		go func() {
			defer group.Done()
			bench.BlockThread(*delay)
		}()
		bench.BlockThread(*delay)
		group.Wait()
	}
	meter.ReportPer(*count)
}
