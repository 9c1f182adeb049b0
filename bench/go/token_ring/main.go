// SPDX-License-Identifier: MIT

// token_ring: `tokens` tokens go round a ring of 256 goroutines over unbuffered channels, `cycles` times each (KRoC's
// mtring).
package main

import "weftbench/bench"

const tasks = 256

func main() {
	tokens, cycles := bench.Int("tokens", 4), bench.Int("cycles", 1024)
	bench.Start()
	links := make([]chan int, tasks)
	for t := range links {
		links[t] = make(chan int)
	}
	for t := 0; t+1 < tasks; t++ {
		go func(in <-chan int, out chan<- int) {
			for token := range in {
				out <- token + 1
			}
			close(out)
		}(links[t], links[t+1])
	}
	out, in := links[0], links[tasks-1]
	meter := bench.NewMeter()
	go func() {
		for i := 1; i <= *tokens; i++ {
			out <- i
		}
	}()
	sum := 0
	for hops := 0; hops < *tokens**cycles; hops++ {
		token := <-in + 1
		if hops >= *tokens*(*cycles-1) {
			sum += token
		} else {
			out <- token
		}
	}
	meter.ReportPer(*tokens * *cycles * tasks)
	bench.Require(sum == *tokens*(*tokens+1)/2+*tokens*tasks**cycles, "every token made every hop")
	close(out)
}
