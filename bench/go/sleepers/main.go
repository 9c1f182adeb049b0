// SPDX-License-Identifier: MIT

// sleepers: goroutines sleep for random 1 to 50 ms; wall and CPU time, lateness.
package main

import (
	"sync"
	"time"

	"weftbench/bench"
)

func main() {
	tasks, count := bench.Int("tasks", 1000), bench.Int("count", 10)
	bench.Start()
	late := make([]float64, *tasks**count)
	var all sync.WaitGroup
	all.Add(*tasks)
	cpu, start := bench.CPU(), time.Now()
	for t := 0; t < *tasks; t++ {
		go func(t int) {
			random := bench.NewRandom(uint64(t) + 1)
			for i := 0; i < *count; i++ {
				pause := time.Duration(1000+random.Next()%49000) * time.Microsecond
				due := time.Now().Add(pause)
				time.Sleep(pause)
				late[t**count+i] = float64(time.Since(due).Nanoseconds()) / 1000
			}
			all.Done()
		}(t)
	}
	all.Wait()
	bench.Report("wall_s", time.Since(start).Seconds())
	bench.Report("cpu_s", (bench.CPU() - cpu).Seconds())
	bench.Report("late_p50_us", bench.Percentile(late, .5))
	bench.Report("late_p99_us", bench.Percentile(late, .99))
}
