// SPDX-License-Identifier: MIT

// banking: a teller orders `count` transfers between random accounts of `tasks`; each account is an actor that debits
// itself, tells the other, and waits for its answer (Savina's banking). The teller keeps `open` transfers under way.
package main

import (
	"sync"

	"weftbench/bench"
)

type message struct {
	to     int // negative: a credit
	amount int
	answer chan<- bool
}

func main() {
	tasks, count, open := bench.Int("tasks", 1000), bench.Int("count", 50000), bench.Int("open", 500)
	bench.Start()
	accounts := make([]chan message, *tasks)
	for i := range accounts {
		accounts[i] = make(chan message, *open)
	}
	finished := make(chan bool, *open)
	balances := make([]int, *tasks)
	var group sync.WaitGroup
	group.Add(*tasks)
	for self := range accounts {
		go func(self int) {
			defer group.Done()
			serve(accounts, self, &balances[self])
		}(self)
	}
	random := bench.NewRandom(1)
	meter := bench.NewMeter()
	for i := 0; i < *count; i++ {
		if i >= *open {
			<-finished
		}
		// From a lower to a higher account: two that waited for each other would wait for ever.
		from := int(random.Next() % uint64(*tasks-1))
		to := from + 1 + int(random.Next()%uint64(*tasks-from-1))
		accounts[from] <- message{to, 1 + i%100, finished}
	}
	for i := 0; i < min(*open, *count); i++ {
		<-finished
	}
	meter.ReportPer(*count)
	for _, account := range accounts {
		close(account)
	}
	group.Wait()
	sum := 0
	for _, balance := range balances {
		sum += balance
	}
	bench.Require(sum == 0, "no money was made or lost")
}

func serve(accounts []chan message, self int, balance *int) {
	answered := make(chan bool, 1)
	for m := range accounts[self] {
		if m.to < 0 {
			*balance += m.amount
			m.answer <- true
			continue
		}
		*balance -= m.amount
		accounts[m.to] <- message{-1, m.amount, answered}
		<-answered
		m.answer <- true
	}
}
