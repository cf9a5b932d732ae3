// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// never is the end of a call whose process was killed.
const never = math.MaxInt64

// A call is one operation of a history; ../history.py describes the lines.
type call struct {
	id, verb, kind, name string
	began, ended         int64
	result               string // ok, no, or a status; empty for an open call
	args, found          map[string]string
	sure                 []span
}

// A span is a time in which a handle was sure of its hold.
type span struct{ from, until int64 }

func (c *call) resource() string { return c.kind + ":" + c.name }

// number is the value of a word, 0 without it.
func number(words map[string]string, key string) int64 {
	value, _ := strconv.ParseInt(words[key], 10, 64)
	return value
}

func wordsOf(words []string) map[string]string {
	found := map[string]string{}
	for _, word := range words {
		if key, value, ok := strings.Cut(word, "="); ok {
			found[key] = value
		}
	}
	return found
}

// read returns the calls of the files in the order in which they began.
func read(paths []string) ([]*call, error) {
	calls := map[string]*call{}
	for _, path := range paths {
		if err := readFile(path, calls); err != nil {
			return nil, err
		}
	}
	sorted := make([]*call, 0, len(calls))
	for _, one := range calls {
		sorted = append(sorted, one)
	}
	slices.SortFunc(sorted, func(a, b *call) int {
		return int(min(1, max(-1, a.began-b.began)))
	})
	return sorted, nil
}

func readFile(path string, calls map[string]*call) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		if err := readLine(strings.Fields(lines.Text()), calls); err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	return lines.Err()
}

func readLine(words []string, calls map[string]*call) error {
	if len(words) < 4 {
		return fmt.Errorf("too few words")
	}
	at, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return err
	}
	kind, id := words[1], words[2]
	if kind == "b" && len(words) >= 6 {
		calls[id] = &call{id: id, verb: words[3], kind: words[4], name: words[5],
			began: at, ended: never, args: wordsOf(words[6:])}
		return nil
	}
	one := calls[id]
	switch {
	case one == nil:
		return fmt.Errorf("%s has not begun", id)
	case kind == "s":
		until := number(wordsOf(words[3:]), "until")
		one.sure = append(one.sure, span{at, until})
	case kind == "e":
		one.ended, one.result, one.found = at, words[3], wordsOf(words[4:])
	default:
		return fmt.Errorf("no line of a history")
	}
	return nil
}
