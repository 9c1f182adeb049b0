// SPDX-License-Identifier: MIT

// popular: `tasks` receivers select between one channel they share and one of their own; one sender serves them in turn
// (Go's ChanPopular).
package main

import (
	"sync"

	"weftbench/bench"
)

func main() {
	tasks, rounds := bench.Int("tasks", 1000), bench.Int("rounds", 300)
	bench.Start()
	shared := make(chan bool)
	own := make([]chan bool, *tasks)
	var group sync.WaitGroup
	for i := range own {
		own[i] = make(chan bool)
		group.Add(1)
		go func(own <-chan bool) {
			defer group.Done()
			for i := 0; i < *rounds; i++ {
				select {
				case <-shared:
				case <-own:
				}
			}
		}(own[i])
	}
	meter := bench.NewMeter()
	for i := 0; i < *rounds; i++ {
		for _, channel := range own {
			channel <- true
		}
	}
	group.Wait()
	meter.ReportPer(*rounds * *tasks)
}
