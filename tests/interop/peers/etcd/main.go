// SPDX-License-Identifier: MIT

// clientv3's Mutex and Election behind the line protocol of ../../peers.py, and:
//
//	campaign NAME TTL_MS VALUE    ok
//	resign                        ok
//	leader NAME                   is VALUE | nobody
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

const patience = 60 * time.Second

type peer struct {
	client   *clientv3.Client
	session  *concurrency.Session
	held     *concurrency.Mutex
	election *concurrency.Election
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

// open makes a session, whose lease has whole seconds.
func (p *peer) open(ttl time.Duration) (err error) {
	seconds := int((ttl + time.Second - 1) / time.Second)
	p.session, err = concurrency.NewSession(p.client, concurrency.WithTTL(seconds))
	return err
}

func (p *peer) acquire(words []string) (string, error) {
	if err := p.open(milliseconds(words, 2)); err != nil {
		return "", err
	}
	mutex := concurrency.NewMutex(p.session, words[1])
	wait := milliseconds(words, 3)
	err := concurrency.ErrLocked
	if wait == 0 {
		err = mutex.TryLock(p.client.Ctx())
	} else {
		ctx, cancel := context.WithTimeout(p.client.Ctx(), wait)
		defer cancel()
		err = mutex.Lock(ctx)
	}
	if errors.Is(err, concurrency.ErrLocked) ||
		errors.Is(err, context.DeadlineExceeded) {
		return "busy", p.session.Close()
	}
	p.held = mutex
	return "ok", err
}

// release says whether the mutex's key was still there.
func (p *peer) release() (string, error) {
	answer := "lost"
	found, err := p.client.Get(p.client.Ctx(), p.held.Key())
	if err != nil {
		return "", err
	}
	if found.Count == 1 {
		answer = "ok"
	}
	if err := p.held.Unlock(p.client.Ctx()); err != nil {
		return "", err
	}
	return answer, p.session.Close()
}

func (p *peer) campaign(words []string) (string, error) {
	if err := p.open(milliseconds(words, 2)); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(p.client.Ctx(), patience)
	defer cancel()
	p.election = concurrency.NewElection(p.session, words[1])
	return "ok", p.election.Campaign(ctx, words[3])
}

func (p *peer) resign() (string, error) {
	if err := p.election.Resign(p.client.Ctx()); err != nil {
		return "", err
	}
	return "ok", p.session.Close()
}

func (p *peer) leader(words []string) (string, error) {
	session, err := concurrency.NewSession(p.client)
	if err != nil {
		return "", err
	}
	defer session.Close()
	found, err := concurrency.NewElection(session, words[1]).Leader(p.client.Ctx())
	if errors.Is(err, concurrency.ErrElectionNoLeader) {
		return "nobody", nil
	}
	if err != nil {
		return "", err
	}
	return "is " + string(found.Kvs[0].Value), nil
}

func (p *peer) answer(line string) (string, error) {
	words := strings.Fields(line)
	switch words[0] {
	case "acquire":
		return p.acquire(words)
	case "release":
		return p.release()
	case "campaign":
		return p.campaign(words)
	case "resign":
		return p.resign()
	case "leader":
		return p.leader(words)
	}
	return "", fmt.Errorf("unknown verb %s", words[0])
}

func main() {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   os.Args[1:],
		DialTimeout: patience,
	})
	if err != nil {
		panic(err)
	}
	p := peer{client: client}
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
