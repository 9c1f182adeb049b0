// SPDX-License-Identifier: MIT

// fib: fork-join fib(n), one goroutine for every call with n >= 2, no cut-off.
package main

import (
	"sync"
	"time"

	"weftbench/bench"
)

func fib(n int) int {
	if n < 2 {
		return n
	}
	var left int
	var one sync.WaitGroup
	one.Add(1)
	go func() {
		left = fib(n - 1)
		one.Done()
	}()
	right := fib(n - 2)
	one.Wait()
	return left + right
}

func tasks(n int) int {
	if n < 2 {
		return 0
	}
	return 1 + tasks(n-1) + tasks(n-2)
}

func plain(n int) int {
	if n < 2 {
		return n
	}
	return plain(n-1) + plain(n-2)
}

func main() {
	n := bench.Int("n", 27)
	bench.Start()
	for _, metric := range []string{"cold_ns", "warm_ns"} {
		start := time.Now()
		value := fib(*n)
		bench.Report(metric, bench.Per(start, tasks(*n)))
		bench.Require(value == plain(*n), "fib(n)")
	}
}
