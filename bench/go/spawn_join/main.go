// SPDX-License-Identifier: MIT

// spawn-join: start one goroutine, wait for it, repeat. A WaitGroup is faster here than a channel.
package main

import (
	"sync"
	"time"

	"weftbench/bench"
)

func main() {
	count := bench.Int("count", 1000000)
	bench.Start()
	sum := 0
	var one sync.WaitGroup
	start := time.Now()
	for i := 0; i < *count; i++ {
		one.Add(1)
		go func() {
			sum++
			one.Done()
		}()
		one.Wait()
	}
	bench.Report("ns", bench.Per(start, *count))
	bench.Require(sum == *count, "every goroutine ran once")
}
