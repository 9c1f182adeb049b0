// SPDX-License-Identifier: MIT

// buffered: producers send integers through one buffered channel to consumers.
package main

import (
	"sync"
	"sync/atomic"
	"time"

	"weftbench/bench"
)

func main() {
	producers, consumers := bench.Int("producers", 1), bench.Int("consumers", 1)
	capacity, count := bench.Int("capacity", 128), bench.Int("count", 10000000)
	bench.Start()
	each := *count / *producers
	channel := make(chan int, *capacity)
	var sending, receiving sync.WaitGroup
	sending.Add(*producers)
	receiving.Add(*consumers)
	var total atomic.Int64
	start := time.Now()
	for c := 0; c < *consumers; c++ {
		go func() {
			sum := 0
			for v := range channel {
				sum += v
			}
			total.Add(int64(sum))
			receiving.Done()
		}()
	}
	for p := 0; p < *producers; p++ {
		go func() {
			for i := 0; i < each; i++ {
				channel <- i
			}
			sending.Done()
		}()
	}
	sending.Wait()
	close(channel)
	receiving.Wait()
	bench.Report("ns", bench.Per(start, each**producers))
	bench.Require(total.Load() == int64(*producers*(each*(each-1)/2)), "every value arrived once")
}
