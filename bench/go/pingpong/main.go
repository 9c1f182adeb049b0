// SPDX-License-Identifier: MIT

// ping-pong: two goroutines, two unbuffered channels.
package main

import (
	"time"

	"weftbench/bench"
)

func main() {
	count := bench.Int("count", 1000000)
	bench.Start()
	ping, pong := make(chan int), make(chan int)
	go func() {
		for v := range ping {
			pong <- v
		}
	}()
	sum := 0
	start := time.Now()
	for i := 0; i < *count; i++ {
		ping <- i
		sum += <-pong
	}
	bench.Report("ns", bench.Per(start, *count))
	bench.Require(sum == *count*(*count-1)/2, "every value came back")
}
