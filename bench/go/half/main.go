// SPDX-License-Identifier: MIT

// half: start one goroutine that computes, compute as long oneself, join; speed-up over doing both in a row.
package main

import (
	"sync"
	"time"

	"weftbench/bench"
)

func main() {
	us, repeat := bench.Int("work-us", 500), bench.Int("repeat", 200)
	bench.Start()
	bench.Calibrate()
	length := float64(*us)
	var serial, parallel time.Duration
	for r := 0; r < *repeat; r++ {
		start := time.Now()
		bench.Work(length)
		bench.Work(length)
		middle := time.Now()
		var other sync.WaitGroup
		other.Add(1)
		go func() {
			bench.Work(length)
			other.Done()
		}()
		bench.Work(length)
		other.Wait()
		serial += middle.Sub(start)
		parallel += time.Since(middle)
	}
	bench.Report("speedup", serial.Seconds()/parallel.Seconds())
}
