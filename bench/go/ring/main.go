// SPDX-License-Identifier: MIT

// ring: goroutines in a ring of unbuffered channels; a token goes round.
package main

import (
	"time"

	"weftbench/bench"
)

func main() {
	tasks, hops := bench.Int("tasks", 10000), bench.Int("hops", 1000000)
	bench.Start()
	laps := *hops / *tasks
	links := make([]chan int, *tasks)
	for t := range links {
		links[t] = make(chan int)
	}
	for t := 0; t+1 < *tasks; t++ {
		go func(in <-chan int, out chan<- int) {
			for token := range in {
				out <- token + 1
			}
			close(out)
		}(links[t], links[t+1])
	}
	first, last := links[0], links[*tasks-1]
	first <- 0 // one lap so that every goroutine has started and waits
	<-last
	token := 0
	start := time.Now()
	for lap := 0; lap < laps; lap++ {
		first <- token
		token = <-last + 1
	}
	bench.Report("ns", bench.Per(start, laps**tasks))
	bench.Require(token == laps**tasks, "the token made every hop")
}
