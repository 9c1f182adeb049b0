// SPDX-License-Identifier: MIT

// spawn: empty goroutines in bursts, each burst waited for; the first time in the process and again.
package main

import (
	"sync"
	"time"

	"weftbench/bench"
)

func spawnAll(tasks, burst int) float64 {
	start := time.Now()
	for done := 0; done < tasks; done += burst {
		var all sync.WaitGroup
		all.Add(burst)
		for i := 0; i < burst; i++ {
			go all.Done()
		}
		all.Wait()
	}
	return bench.Per(start, tasks)
}

func main() {
	tasks, burst := bench.Int("tasks", 1000000), bench.Int("burst", 0)
	bench.Start()
	if *burst == 0 {
		*burst = *tasks
	}
	bench.Report("cold_ns", spawnAll(*tasks, *burst))
	bench.Report("warm_ns", spawnAll(*tasks, *burst))
}
