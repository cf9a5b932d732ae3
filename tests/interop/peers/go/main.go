// SPDX-License-Identifier: MIT

// redsync behind the line protocol of ../../peers.py, on one server or several.
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
	pools "github.com/go-redsync/redsync/v4/redis"
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

// isBusy is whether a node voted against because the key was there: most of them
// say so in one error, and fewer each for itself.
func isBusy(err error) bool {
	var most *redsync.ErrTaken
	var one *redsync.ErrNodeTaken
	return errors.As(err, &most) || errors.As(err, &one)
}

func (p *peer) acquire(words []string) (string, error) {
	options := []redsync.Option{redsync.WithExpiry(milliseconds(words, 2))}
	if len(words) <= 3 || words[3] != "default" {
		options = append(options,
			redsync.WithTries(1+int(milliseconds(words, 3)/retryDelay)),
			redsync.WithRetryDelay(retryDelay))
	}
	mutex := p.sync.NewMutex(words[1], options...)
	err := mutex.Lock()
	if isBusy(err) {
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
	if errors.Is(err, redsync.ErrLockAlreadyExpired) || isBusy(err) {
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
	var servers []pools.Pool
	for _, url := range os.Args[1:] {
		options, err := redis.ParseURL(url)
		if err != nil {
			panic(err)
		}
		servers = append(servers, goredis.NewPool(redis.NewClient(options)))
	}
	p := peer{sync: redsync.New(servers...)}
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
