// SPDX-License-Identifier: MIT

// The command reads histories of one server, and looks for an order of the calls on
// each lock, each election and each guarded value that explains all results
// (linearizability, by Porcupine):
//
//	checker FILE...
//
// It prints a line for each name, and ends with 1 if there is none for some name, or if
// it was not found in time.
package main

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

const patience = 2 * time.Minute // for one name

type subject struct {
	name  string
	model porcupine.Model
	steps []porcupine.Operation
}

func subjects(calls []*call) []subject {
	names := map[string][]*call{}
	for _, one := range calls {
		names[one.resource()] = append(names[one.resource()], one)
	}
	var found []subject
	for name, those := range names {
		switch those[0].kind {
		case "lock", "election":
			found = append(found, subject{name, lockModel, lockSteps(those)})
		case "guard":
			found = append(found, subject{name, guardModel, guardSteps(those)})
		}
	}
	slices.SortFunc(found, func(a, b subject) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return found
}

// judge returns whether an order exists, and a line about it.
func (s subject) judge() (bool, string) {
	result := porcupine.CheckOperationsTimeout(s.model, s.steps, patience)
	line := fmt.Sprintf("%s: %d steps: ", s.name, len(s.steps))
	if result == porcupine.Unknown {
		return false, line + "UNDECIDED"
	}
	if result == porcupine.Ok {
		return true, line + "linearizable"
	}
	_, info := porcupine.CheckOperationsVerbose(s.model, s.steps, patience)
	return false, line + "NOT LINEARIZABLE" + s.firstUnexplained(info)
}

// firstUnexplained names the step, of those that no order reaches, that ended first.
func (s subject) firstUnexplained(info porcupine.LinearizationInfo) string {
	explained := map[any]bool{}
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, order := range partition {
			for _, step := range order {
				explained[step.Metadata] = true
			}
		}
	}
	var first *porcupine.Operation
	for i := range s.steps {
		step := &s.steps[i]
		if !explained[step.Metadata] && (first == nil || step.Return < first.Return) {
			first = step
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf(": %v from %d to %d: %+v",
		first.Metadata, first.Call, first.Return, first.Input)
}

func main() {
	calls, err := read(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "checker:", err)
		os.Exit(2)
	}
	all := subjects(calls)
	good := make([]bool, len(all))
	lines := make([]string, len(all))
	var running sync.WaitGroup
	for i, one := range all {
		running.Add(1)
		go func() {
			defer running.Done()
			good[i], lines[i] = one.judge()
		}()
	}
	running.Wait()
	for _, line := range lines {
		fmt.Println(line)
	}
	if len(all) == 0 || slices.Contains(good, false) {
		os.Exit(1)
	}
}
