// SPDX-License-Identifier: MIT

// redsync behind the line protocol of ../../peers.py.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const retryDelay = 50 * time.Millisecond

type peer struct {
	sync *redsync.Redsync
	held *redsync.Mutex
}

func milliseconds(words []string, at int) time.Duration {
	if at >= len(words) {
		return 0
	}
	ms, err := strconv.Atoi(words[at])
	if err != nil {
		panic(err)
	}
	return time.Duration(ms) * time.Millisecond
}

func (p *peer) acquire(words []string) (string, error) {
	mutex := p.sync.NewMutex(words[1],
		redsync.WithExpiry(milliseconds(words, 2)),
		redsync.WithTries(1+int(milliseconds(words, 3)/retryDelay)),
		redsync.WithRetryDelay(retryDelay))
	err := mutex.Lock()
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) {
		return "busy", nil
	}
	p.held = mutex
	return "ok", err
}

func (p *peer) release() (string, error) {
	released, err := p.held.Unlock()
	if released {
		return "ok", nil
	}
	var taken *redsync.ErrTaken
	if errors.Is(err, redsync.ErrLockAlreadyExpired) || errors.As(err, &taken) {
		return "lost", nil
	}
	return "lost", err
}

func (p *peer) answer(line string) (string, error) {
	words := strings.Fields(line)
	switch words[0] {
	case "acquire":
		return p.acquire(words)
	case "release":
		return p.release()
	}
	return "", fmt.Errorf("unknown verb %s", words[0])
}

func main() {
	options, err := redis.ParseURL(os.Args[1])
	if err != nil {
		panic(err)
	}
	client := redis.NewClient(options)
	p := peer{sync: redsync.New(goredis.NewPool(client))}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		word, err := p.answer(lines.Text())
		if err != nil {
			word = "error " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(word)
	}
}
