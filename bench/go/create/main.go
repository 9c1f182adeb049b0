// SPDX-License-Identifier: MIT

// create: `tasks` actors are made, each gets one message and computes a little (Savina's fjcreate).
package main

import (
	"sync"
	"sync/atomic"

	"weftbench/bench"
)

func main() {
	tasks, steps, rounds := bench.Int("tasks", 40000), bench.Int("steps", 100), bench.Int("rounds", 5)
	bench.Start()
	var sum atomic.Int64
	meter := bench.NewMeter()
	for round := 0; round < *rounds; round++ {
		var group sync.WaitGroup
		for i := 0; i < *tasks; i++ {
			mailbox := make(chan int, 1)
			group.Add(1)
			go func() {
				defer group.Done()
				message := <-mailbox
				bench.Steps(uint64(*steps))
				sum.Add(int64(message))
			}()
			mailbox <- 1
		}
		group.Wait()
	}
	meter.ReportPer(*tasks * *rounds)
	bench.Require(sum.Load() == int64(*tasks**rounds), "every actor got its message")
}
