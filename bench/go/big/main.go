// SPDX-License-Identifier: MIT

// big: `tasks` actors ping random others and wait for the answer, `pings` times each (Savina's big).
package main

import (
	"sync"
	"sync/atomic"

	"weftbench/bench"
)

type message struct {
	from   int
	isPing bool
}

func main() {
	tasks, pings := bench.Int("tasks", 120), bench.Int("pings", 2000)
	bench.Start()
	mailboxes := make([]chan message, *tasks)
	for i := range mailboxes {
		mailboxes[i] = make(chan message, 2**tasks)
	}
	var done, group sync.WaitGroup
	done.Add(*tasks)
	group.Add(*tasks)
	var answered atomic.Int64
	meter := bench.NewMeter()
	for self := range mailboxes {
		go func(self int) {
			defer group.Done()
			random := bench.NewRandom(uint64(self) + 1)
			ping := func() { mailboxes[random.Next()%uint64(*tasks)] <- message{self, true} }
			left := *pings
			ping()
			for m := range mailboxes[self] {
				if m.isPing {
					mailboxes[m.from] <- message{self, false}
					continue
				}
				answered.Add(1)
				left--
				if left > 0 {
					ping()
				} else {
					done.Done()
				}
			}
		}(self)
	}
	done.Wait()
	meter.ReportPer(*tasks * *pings)
	for _, mailbox := range mailboxes {
		close(mailbox)
	}
	group.Wait()
	bench.Require(answered.Load() == int64(*tasks**pings), "every ping was answered")
}
