// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// A lock: a register that has its holder, and the fence of the last grant.

type locked struct {
	rank   int // of the last grant among all fences of the name, from 1
	holder string
}

// A lockStep is one transition of one hold.
type lockStep struct {
	what string // grant, renew, release, mayEnd
	hold string
	rank int
}

var lockModel = porcupine.Model{
	Init: func() any { return locked{} },
	Step: func(state, input, _ any) (bool, any) {
		was, step := state.(locked), input.(lockStep)
		free := locked{was.rank, ""}
		switch step.what {
		case "grant":
			// Fences rise, so the ranks of the grants follow each other.
			return was.holder == "" && step.rank == was.rank+1,
				locked{step.rank, step.hold}
		case "renew":
			return was.holder == step.hold, was
		case "release":
			return was.holder == step.hold, free
		default:
			if was.holder == step.hold {
				return true, free
			}
			return true, was
		}
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}

// lockSteps are the transitions of the calls on one lock. An acquire without success
// is none: what it may have held it has given back. The lease of a hold that was not
// released may end at any time after its handle was sure last.
func lockSteps(calls []*call) []porcupine.Operation {
	var steps []porcupine.Operation
	// Of a hold, by a call about it; rank is that of a grant.
	add := func(what string, hold, by *call, rank int, from, until int64) {
		steps = append(steps, porcupine.Operation{
			Input: lockStep{what, hold.id, rank}, Call: from, Return: until,
			Metadata: by.id + " " + what})
	}
	var holds []*call
	later := map[string][]*call{}
	for _, one := range calls {
		if one.verb == "acquire" && one.result == "ok" {
			holds = append(holds, one)
		} else if hold := one.args["hold"]; hold != "" {
			later[hold] = append(later[hold], one)
		}
	}
	slices.SortFunc(holds, func(a, b *call) int {
		return int(number(a.found, "fence") - number(b.found, "fence"))
	})
	for at, hold := range holds {
		released := false
		add("grant", hold, hold, at+1, hold.began, hold.ended)
		for _, one := range later[hold.id] {
			switch {
			case one.verb == "extend" && one.result == "ok":
				add("renew", hold, one, 0, one.began, one.ended)
			case one.verb == "release" && one.result == "ok":
				add("release", hold, one, 0, one.began, one.ended)
				released = true
			case one.verb == "release" && one.result == "no":
				add("mayEnd", hold, one, 0, one.began, one.ended)
			case one.verb == "release":
				add("mayEnd", hold, one, 0, one.began, never)
			}
		}
		if !released {
			add("mayEnd", hold, hold, 0, sureUntil(hold, later[hold.id]), never)
		}
	}
	return steps
}

// sureUntil is the last moment at which the handle was sure: until the next call about
// the hold, which may shorten its lease.
func sureUntil(hold *call, calls []*call) int64 {
	last := hold.began
	for _, one := range hold.sure {
		until := one.until
		for _, next := range calls {
			if next.began > one.from {
				until = min(until, next.began)
			}
		}
		last = max(last, until)
	}
	return last
}
