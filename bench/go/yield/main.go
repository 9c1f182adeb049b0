// SPDX-License-Identifier: MIT

// yield: goroutines call Gosched.
package main

import (
	"runtime"
	"sync"
	"time"

	"weftbench/bench"
)

func main() {
	tasks, count := bench.Int("tasks", 1), bench.Int("count", 1000000)
	bench.Start()
	var all sync.WaitGroup
	all.Add(*tasks)
	start := time.Now()
	for t := 0; t < *tasks; t++ {
		go func() {
			for i := 0; i < *count; i++ {
				runtime.Gosched()
			}
			all.Done()
		}()
	}
	all.Wait()
	bench.Report("ns", bench.Per(start, *tasks**count))
}
