// SPDX-License-Identifier: MIT

// fan-out: goroutines that compute against the same work done in a row; speed-up.
package main

import (
	"sync"
	"time"

	"weftbench/bench"
)

func main() {
	tasks, us, repeat := bench.Int("tasks", 1000), bench.Int("work-us", 10), bench.Int("repeat", 20)
	bench.Start()
	bench.Calibrate()
	length := float64(*us)
	var serial, parallel time.Duration
	for r := -1; r < *repeat; r++ { // the first round only warms up
		start := time.Now()
		for t := 0; t < *tasks; t++ {
			bench.Work(length)
		}
		middle := time.Now()
		var all sync.WaitGroup
		all.Add(*tasks)
		for t := 0; t < *tasks; t++ {
			go func() {
				bench.Work(length)
				all.Done()
			}()
		}
		all.Wait()
		if r < 0 {
			continue
		}
		serial += middle.Sub(start)
		parallel += time.Since(middle)
	}
	bench.Report("speedup", serial.Seconds()/parallel.Seconds())
}
