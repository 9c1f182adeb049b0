// SPDX-License-Identifier: MIT

// bounded_buffer: `pairs` producers and as many consumers around a manager that keeps `buffer` items (Savina's
// bndbuffer): each item costs its producer and its consumer `work-us` of computing.
package main

import (
	"sync"
	"sync/atomic"

	"weftbench/bench"
)

func main() {
	pairs, items, work := bench.Int("pairs", 40), bench.Int("items", 1000), bench.Int("work-us", 1)
	buffer := bench.Int("buffer", 50)
	bench.Start()
	bench.Calibrate()
	in, out := make(chan int), make(chan int)
	var producers, consumers sync.WaitGroup
	producers.Add(*pairs)
	consumers.Add(*pairs)
	var sum atomic.Int64
	meter := bench.NewMeter()
	for p := 0; p < *pairs; p++ {
		go func() {
			defer producers.Done()
			for i := 1; i <= *items; i++ {
				bench.Work(float64(*work))
				in <- i
			}
		}()
		go func() {
			defer consumers.Done()
			own := 0
			for item := range out {
				bench.Work(float64(*work))
				own += item
			}
			sum.Add(int64(own))
		}()
	}
	go func() {
		producers.Wait()
		close(in)
	}()
	manage(in, out, *buffer)
	close(out)
	consumers.Wait()
	meter.ReportPer(*pairs * *items)
	bench.Require(sum.Load() == int64(*pairs**items*(*items+1)/2), "every item was consumed")
}

// manage hands items on until in is closed and nothing is kept.
func manage(in <-chan int, out chan<- int, buffer int) {
	kept := make([]int, buffer) // a ring
	first, count := 0, 0
	for open := true; open || count > 0; {
		var from <-chan int // nil: that case never happens
		var to chan<- int
		if open && count < buffer {
			from = in
		}
		if count > 0 {
			to = out
		}
		select {
		case item, ok := <-from:
			if ok {
				kept[(first+count)%buffer] = item
				count++
			} else {
				open = false
			}
		case to <- kept[first]:
			first = (first + 1) % buffer
			count--
		}
	}
}
