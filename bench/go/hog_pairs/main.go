// SPDX-License-Identifier: MIT

// hog_pairs: two goroutines hand over after `heavy` steps, two others after `light` steps, for `ms`: how many steps the
// favoured pair gets for each step of the other (Go's PingPongHog asks the same).
package main

import (
	"sync/atomic"
	"time"

	"weftbench/bench"
)

func main() {
	heavy, light, ms := bench.Int("heavy", 1000000), bench.Int("light", 1000), bench.Int("ms", 1000)
	bench.Start()
	var made [2]atomic.Int64
	for pair, steps := range []int{*heavy, *light} {
		ping, pong := make(chan bool), make(chan bool)
		go play(ping, pong, steps, &made[pair])
		go play(pong, ping, steps, &made[pair])
		go func() { ping <- true }()
	}
	time.Sleep(time.Duration(*ms) * time.Millisecond)
	one, other := float64(made[0].Load()), float64(made[1].Load())
	bench.Report("unfairness", max(one, other)/max(min(one, other), 1))
}

func play(in <-chan bool, out chan<- bool, steps int, made *atomic.Int64) {
	for range in {
		bench.Steps(uint64(steps))
		made.Add(int64(steps))
		out <- true
	}
}
