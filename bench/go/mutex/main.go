// SPDX-License-Identifier: MIT

// mutex: goroutines lock and unlock one mutex.
package main

import (
	"sync"
	"time"

	"weftbench/bench"
)

func main() {
	tasks, count := bench.Int("tasks", 8), bench.Int("count", 1000000)
	bench.Start()
	var mutex sync.Mutex
	sum := 0
	var all sync.WaitGroup
	all.Add(*tasks)
	start := time.Now()
	for t := 0; t < *tasks; t++ {
		go func() {
			for i := 0; i < *count; i++ {
				mutex.Lock()
				sum++
				mutex.Unlock()
			}
			all.Done()
		}()
	}
	all.Wait()
	bench.Report("ns", bench.Per(start, *tasks**count))
	bench.Require(sum == *tasks**count, "no increment was lost")
}
