// SPDX-License-Identifier: MIT

// skynet: a tree of goroutines with ten children each; each node sums its children's channel.
package main

import (
	"time"

	"weftbench/bench"
)

func skynet(parent chan<- int, number, size int) {
	if size == 1 {
		parent <- number
		return
	}
	children := make(chan int)
	for i := 0; i < 10; i++ {
		go skynet(children, number+i*(size/10), size/10)
	}
	sum := 0
	for i := 0; i < 10; i++ {
		sum += <-children
	}
	parent <- sum
}

func main() {
	leaves := bench.Int("leaves", 1000000)
	bench.Start()
	for _, metric := range []string{"cold_s", "warm_s"} {
		result := make(chan int)
		start := time.Now()
		go skynet(result, 0, *leaves)
		sum := <-result
		bench.Report(metric, time.Since(start).Seconds())
		bench.Require(sum == *leaves*(*leaves-1)/2, "sum of the leaves")
	}
}
