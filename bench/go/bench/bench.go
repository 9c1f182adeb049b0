// SPDX-License-Identifier: MIT

// Package bench is what the Go programs share: arguments, clocks, calibrated work and the JSON lines that the harness
// reads. common/bench.h has the same for C++.
package bench

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

var procs = flag.Int("procs", 1, "GOMAXPROCS")

// Int declares an argument.
func Int(name string, fallback int) *int { return flag.Int(name, fallback, "") }

// Start reads the arguments and sets GOMAXPROCS.
func Start() {
	flag.Parse()
	if flag.NArg() > 0 {
		Fail("unknown argument " + flag.Arg(0))
	}
	runtime.GOMAXPROCS(*procs)
}

// Procs is the value of --procs.
func Procs() int { return *procs }

// Report prints one measured value.
func Report(metric string, value float64) {
	fmt.Printf("{\"metric\":\"%s\",\"value\":%.9g}\n", metric, value)
}

// Fail ends the program with a message.
func Fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(1)
}

// Require ends the program if what it computed is wrong: its time would be worthless.
func Require(ok bool, what string) {
	if !ok {
		Fail("wrong result: " + what)
	}
}

// Per reports nanoseconds since start per operation.
func Per(start time.Time, operations int) float64 {
	return float64(time.Since(start).Nanoseconds()) / float64(operations)
}

// Meter measures time and CPU time from its making on.
type Meter struct {
	start time.Time
	cpu   time.Duration
}

// NewMeter starts one.
func NewMeter() Meter { return Meter{time.Now(), CPU()} }

// ReportPer reports both, each divided by the number of operations.
func (m Meter) ReportPer(operations int) {
	ns, cpu := Per(m.start, operations), float64((CPU()-m.cpu).Nanoseconds())/float64(operations)
	Report("ns", ns)
	Report("cpu_ns", cpu)
}

const (
	processCPU = 2 // CLOCK_PROCESS_CPUTIME_ID
	threadCPU  = 3 // CLOCK_THREAD_CPUTIME_ID
)

func clock(id uintptr) time.Duration {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}

// CPU is the user and system time of the process.
func CPU() time.Duration { return clock(processCPU) }

// ThreadCPU is that of the calling thread alone.
func ThreadCPU() time.Duration { return clock(threadCPU) }

// Resident is the resident memory of the process in bytes.
func Resident() int {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		Fail(err.Error())
	}
	var total, resident int
	fmt.Sscan(strings.TrimSpace(string(data)), &total, &resident)
	return resident * os.Getpagesize()
}

// VoluntarySwitches counts how often a thread of the process went to sleep.
func VoluntarySwitches() int64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Nvcsw
}

// Percentile sorts values.
func Percentile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sort.Float64s(values)
	return values[int(q*float64(len(values)-1))]
}

var sink atomic.Uint64

//go:noinline
func spin(steps uint64) uint64 {
	x := steps | 1
	for i := uint64(0); i < steps; i++ {
		x = x*6364136223846793005 + i
	}
	return x
}

var stepsPerMicrosecond float64

// Calibrate must run before Work: the fastest of twenty runs, so that an interruption does not count.
func Calibrate() {
	best := time.Hour
	for i := 0; i < 20; i++ {
		start := time.Now()
		sink.Store(spin(100000))
		best = min(best, time.Since(start))
	}
	stepsPerMicrosecond = 100000 / (float64(best.Nanoseconds()) / 1000)
}

// Work computes for so many microseconds without memory or calls.
func Work(us float64) { sink.Store(spin(uint64(us * stepsPerMicrosecond))) }

// Steps computes so many steps of about a nanosecond, as Work does.
func Steps(count uint64) { sink.Store(spin(count)) }

// BlockThread blocks the calling thread in a system call. Go announces such a call to its scheduler by itself.
func BlockThread(us int) {
	pause := syscall.NsecToTimespec(int64(us) * 1000)
	syscall.Nanosleep(&pause, nil)
}

// Keep keeps the compiler from dropping a value.
func Keep(value uint64) { sink.Store(value) }

// Random is the same small generator in every language.
type Random uint64

// NewRandom seeds one.
func NewRandom(seed uint64) Random { return Random(seed*2654435761 + 1) }

// Next returns the next number.
func (r *Random) Next() uint64 {
	*r ^= *r << 13
	*r ^= *r >> 7
	*r ^= *r << 17
	return uint64(*r)
}
