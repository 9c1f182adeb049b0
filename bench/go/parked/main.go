// SPDX-License-Identifier: MIT

// parked: goroutines wait for one event, a channel that is closed; memory and time to create and to end them.
package main

import (
	"sync"
	"time"

	"weftbench/bench"
)

func main() {
	tasks, settle := bench.Int("tasks", 1000000), bench.Int("settle-ms", 10000)
	bench.Start()
	var parked, ended sync.WaitGroup
	parked.Add(*tasks)
	ended.Add(*tasks)
	event := make(chan struct{})
	before := bench.Resident()
	start := time.Now()
	for t := 0; t < *tasks; t++ {
		go func() {
			parked.Done()
			<-event
			ended.Done()
		}()
	}
	parked.Wait()
	bench.Report("create_ns", bench.Per(start, *tasks))
	bench.Report("bytes", float64(bench.Resident()-before)/float64(*tasks))
	start = time.Now()
	close(event)
	ended.Wait()
	bench.Report("exit_ns", bench.Per(start, *tasks))
	time.Sleep(time.Duration(*settle) * time.Millisecond)
	bench.Report("after_mb", float64(bench.Resident())/1e6)
}
