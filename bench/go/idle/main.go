// SPDX-License-Identifier: MIT

// idle: CPU time of a process whose goroutines all wait.
package main

import (
	"sync"
	"time"

	"weftbench/bench"
)

func main() {
	tasks, ms := bench.Int("tasks", 10000), bench.Int("ms", 3000)
	bench.Start()
	var parked sync.WaitGroup
	parked.Add(*tasks)
	event := make(chan struct{})
	for t := 0; t < *tasks; t++ {
		go func() {
			parked.Done()
			<-event
		}()
	}
	parked.Wait()
	time.Sleep(500 * time.Millisecond)
	cpu, start := bench.CPU(), time.Now()
	time.Sleep(time.Duration(*ms) * time.Millisecond)
	bench.Report("cpu_ms_per_s", (bench.CPU()-cpu).Seconds()/time.Since(start).Seconds()*1000)
	close(event)
}
