// SPDX-License-Identifier: MIT

// tick_reads: goroutines wait in blocking reads of slow pipes; another wakes every millisecond.
package main

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weftbench/bench"
)

func main() {
	ms := bench.Int("ms", 3000)
	readers := bench.Int("readers", 8)
	period := bench.Int("period-us", 3000)
	bench.Start()
	ends := make([][2]int, *readers)
	var reads atomic.Int64
	var stop atomic.Bool
	var group sync.WaitGroup
	for i := range ends {
		if err := syscall.Pipe2(ends[i][:], syscall.O_CLOEXEC); err != nil {
			bench.Fail(err.Error())
		}
		group.Add(1)
		go func(fd int) {
			defer group.Done()
			one := make([]byte, 1)
			for {
				n, _ := syscall.Read(fd, one) // a blocking descriptor, past Go's poller
				if n != 1 {
					return
				}
				reads.Add(1)
			}
		}(ends[i][0])
	}
	written := make(chan bool)
	go func() {
		for !stop.Load() {
			pause := syscall.NsecToTimespec(int64(*period) * 1000)
			syscall.Nanosleep(&pause, nil)
			for _, pair := range ends {
				syscall.Write(pair[1], []byte{1})
			}
		}
		for _, pair := range ends {
			syscall.Close(pair[1])
		}
		close(written)
	}()
	var late []float64
	due := time.Now()
	for i := 0; i < *ms; i++ {
		due = due.Add(time.Millisecond)
		time.Sleep(time.Until(due))
		late = append(late, float64(time.Since(due).Nanoseconds())/1e6)
	}
	stop.Store(true)
	<-written
	group.Wait()
	bench.Require(reads.Load() > 0, "no read came back")
	bench.Report("late_p99_ms", bench.Percentile(late, .99))
	bench.Report("late_max_ms", bench.Percentile(late, 1))
}
