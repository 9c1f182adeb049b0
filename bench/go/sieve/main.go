// SPDX-License-Identifier: MIT

// sieve: primes by a chain of filter goroutines over unbuffered channels.
package main

import (
	"time"

	"weftbench/bench"
)

func generate(out chan<- int) {
	for i := 2; ; i++ {
		out <- i
	}
}

func filter(in <-chan int, out chan<- int, prime int) {
	for {
		if v := <-in; v%prime != 0 {
			out <- v
		}
	}
}

func main() {
	primes := bench.Int("primes", 2000)
	bench.Start()
	start := time.Now()
	source := make(chan int)
	go generate(source)
	prime := 0
	for i := 0; i < *primes; i++ {
		prime = <-source
		filtered := make(chan int)
		go filter(source, filtered, prime)
		source = filtered
	}
	bench.Report("s", time.Since(start).Seconds())
	bench.Require(*primes != 2000 || prime == 17389, "the 2000th prime is 17389")
}
