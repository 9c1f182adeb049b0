// SPDX-License-Identifier: MIT

// count: one producer fills one mailbox of `capacity` places, one counter empties it (Savina's counting actor).
package main

import "weftbench/bench"

func main() {
	count, capacity := bench.Int("count", 1000000), bench.Int("capacity", 1024)
	bench.Start()
	mailbox, result := make(chan int, *capacity), make(chan int)
	meter := bench.NewMeter()
	go func() {
		sum := 0
		for message := range mailbox {
			sum += message
		}
		result <- sum
	}()
	for i := 0; i < *count; i++ {
		mailbox <- 1
	}
	close(mailbox)
	sum := <-result
	meter.ReportPer(*count)
	bench.Require(sum == *count, "every message was counted")
}
