// SPDX-License-Identifier: MIT

// smokers: an arbiter tells one of `tasks` smokers at random to smoke, who says so and computes for a while; `count`
// rounds (Savina's cigsmok).
package main

import (
	"sync"
	"sync/atomic"

	"weftbench/bench"
)

func main() {
	tasks, count, mostSteps := bench.Int("tasks", 200), bench.Int("count", 20000), bench.Int("steps", 1000)
	bench.Start()
	smokers := make([]chan uint64, *tasks)
	started := make(chan bool, 1)
	var group sync.WaitGroup
	group.Add(*tasks)
	var smoked atomic.Int64
	for i := range smokers {
		smokers[i] = make(chan uint64, 16)
		go func(orders <-chan uint64) {
			defer group.Done()
			own := 0
			for steps := range orders {
				started <- true
				bench.Steps(steps)
				own++
			}
			smoked.Add(int64(own))
		}(smokers[i])
	}
	random := bench.NewRandom(1)
	meter := bench.NewMeter()
	for i := 0; i < *count; i++ {
		smoker := smokers[random.Next()%uint64(*tasks)]
		smoker <- random.Next() % uint64(*mostSteps)
		<-started
	}
	for _, smoker := range smokers {
		close(smoker)
	}
	group.Wait()
	meter.ReportPer(*count)
	bench.Require(smoked.Load() == int64(*count), "everyone who was told to smoke did")
}
