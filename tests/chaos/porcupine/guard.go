// SPDX-License-Identifier: MIT

package main

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// The guarded value: a register that refuses a smaller fence than its own.

type guarded struct {
	fence int64
	value string
}

// A guardStep is one transition. mayPut and mayRaise belong to calls whose outcome is
// unknown: they change nothing once a greater fence is on record, and as the last
// steps nothing that anybody reads.
type guardStep struct {
	what  string // put, get, mayPut, mayRaise, stale
	fence int64
	value string
	seen  int64
}

var guardModel = porcupine.Model{
	Init: func() any { return guarded{} },
	Step: func(state, input, _ any) (bool, any) {
		was, step := state.(guarded), input.(guardStep)
		is := guarded{max(was.fence, step.fence), was.value}
		refused := step.fence > 0 && step.fence < was.fence
		switch step.what {
		case "put":
			is.value = step.value
			return !refused, is
		case "get":
			return !refused && step.value == is.value && step.seen == is.fence, is
		case "mayPut":
			if !refused {
				is.value = step.value
			}
			return true, is
		case "mayRaise":
			return true, is
		default:
			return refused, was
		}
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}

// guardSteps are the transitions of the calls on one value.
func guardSteps(calls []*call) []porcupine.Operation {
	var steps []porcupine.Operation
	add := func(one *call, what string, until int64) {
		step := guardStep{what, number(one.args, "fence"), one.args["data"], 0}
		if what == "get" {
			step.value, step.seen = one.found["data"], number(one.found, "seen")
		}
		steps = append(steps, porcupine.Operation{
			Input: step, Call: one.began, Return: until, Metadata: one.id + " " + what})
	}
	for _, one := range calls {
		switch {
		case one.result == "ok":
			add(one, one.verb, one.ended)
		case one.verb == "put" && one.result == "ILK_ESTALE":
			add(one, "stale", one.ended)
		case one.verb == "put":
			add(one, "mayPut", never)
		case number(one.args, "fence") == 0:
			// A read that failed changes nothing.
		case one.result == "ILK_ESTALE":
			// A first copy of the request may have put its fence on record.
			add(one, "mayRaise", one.ended)
			add(one, "stale", one.ended)
		default:
			add(one, "mayRaise", never)
		}
	}
	return steps
}
