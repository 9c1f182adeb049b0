// SPDX-License-Identifier: MIT

// select: two producers on two unbuffered channels, one consumer selecting.
package main

import (
	"time"

	"weftbench/bench"
)

func main() {
	count := bench.Int("count", 1000000)
	bench.Start()
	half := *count / 2
	left, right := make(chan int), make(chan int)
	for _, channel := range []chan int{left, right} {
		channel := channel
		go func() {
			for i := 0; i < half; i++ {
				channel <- i
			}
		}()
	}
	sum := 0
	start := time.Now()
	for i := 0; i < 2*half; i++ {
		select {
		case v := <-left:
			sum += v
		case v := <-right:
			sum += v
		}
	}
	bench.Report("ns", bench.Per(start, 2*half))
	bench.Require(sum == half*(half-1), "every value arrived once")
}
