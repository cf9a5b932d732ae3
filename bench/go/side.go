// SPDX-License-Identifier: MIT

// A side's conversation, the same for all peers in Go: ../README.md has the lines that
// it reads. A peer's own file says how it opens a lock. BENCH_LEASE_MS is the lease.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

var lease = 30 * time.Second

// A lock, and what panics when it fails.
type pair struct {
	lock, unlock func()
}

type side struct {
	open  func(name string, ttl time.Duration) pair
	lines *bufio.Scanner
}

// The clock that all processes of a machine share, in nanoseconds.
func now() int64 {
	const monotonic = 1
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic,
		uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

func cpu() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func number(word string) float64 {
	value, err := strconv.ParseFloat(word, 64)
	if err != nil {
		panic(err)
	}
	return value
}

func answer(what any) {
	line, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

func inThreads(count int, body func(int)) {
	var group sync.WaitGroup
	for i := 0; i < count; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			body(i)
		}()
	}
	group.Wait()
}

func (s *side) pairs(words []string) {
	threads := int(number(words[2]))
	times := make([][]int64, threads)
	inThreads(threads, func(i int) { // connect, and load scripts, first
		it := s.open(fmt.Sprintf("%s-%d", words[1], i), lease)
		it.lock()
		it.unlock()
	})
	used, began := cpu(), now()
	ends := began + int64(number(words[3])*1e9)
	inThreads(threads, func(i int) {
		it := s.open(fmt.Sprintf("%s-%d", words[1], i), lease)
		for asked := now(); len(times[i]) == 0 || asked < ends; {
			it.lock()
			it.unlock()
			ended := now()
			times[i] = append(times[i], ended-asked)
			asked = ended
		}
	})
	took, used := now()-began, cpu()-used
	var all []int64
	for _, own := range times {
		all = append(all, own...)
	}
	figures(all, took, used)
}

func figures(all []int64, took int64, used time.Duration) {
	sort.Slice(all, func(a, b int) bool { return all[a] < all[b] })
	count := len(all)
	answer(map[string]float64{
		"pairs":  float64(count),
		"per_s":  float64(count) / float64(took) * 1e9,
		"p50_us": float64(all[count/2]) / 1000,
		"p99_us": float64(all[(count-1)*99/100]) / 1000,
		"cpu_us": float64(used.Nanoseconds()) / 1000 / float64(count),
	})
}

// Pairs by one, of which acquires are timed.
func (s *side) acquires(words []string) {
	it := s.open(words[1], lease)
	it.lock()
	it.unlock()
	var times []int64
	used, began := cpu(), now()
	ends := began + int64(number(words[2])*1e9)
	for asked := now(); len(times) == 0 || asked < ends; asked = now() {
		it.lock()
		times = append(times, now()-asked)
		it.unlock()
	}
	figures(times, now()-began, cpu()-used)
}

func (s *side) crowd(words []string) {
	logs := make([][]int64, int(number(words[2])))
	inside := time.Duration(number(words[3])) * time.Microsecond
	answer("standing")
	s.lines.Scan()
	told := strings.Fields(s.lines.Text())
	starts, ends := int64(number(told[1])*1e9), int64(number(told[2])*1e9)
	inThreads(len(logs), func(i int) {
		it := s.open(words[1], lease)
		log := []int64{}
		time.Sleep(time.Duration(starts - now()))
		for len(log) == 0 || now() < ends {
			log = append(log, now()-starts)
			it.lock()
			log = append(log, now()-starts)
			if inside > 0 {
				time.Sleep(inside)
			}
			it.unlock()
		}
		logs[i] = log
	})
	answer(logs)
}

func (s *side) ttl(words []string) pair {
	return s.open(words[1], time.Duration(number(words[2]))*time.Millisecond)
}

func (s *side) hear(words []string) {
	switch words[0] {
	case "pairs":
		s.pairs(words)
	case "acquires":
		s.acquires(words)
	case "crowd":
		s.crowd(words)
	case "hold":
		s.ttl(words).lock()
		answer("held")
	case "next":
		it := s.ttl(words)
		answer("waiting")
		it.lock()
		answer(now())
		it.unlock()
	default:
		panic("unknown verb " + words[0])
	}
}

// serve reads lines until the input ends.
func serve(open func(name string, ttl time.Duration) pair) {
	s := side{open, bufio.NewScanner(os.Stdin)}
	answer("ready")
	for s.lines.Scan() {
		s.hear(strings.Fields(s.lines.Text()))
	}
}

func init() {
	if ms := os.Getenv("BENCH_LEASE_MS"); ms != "" {
		lease = time.Duration(number(ms)) * time.Millisecond
	}
}
