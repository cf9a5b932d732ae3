// SPDX-License-Identifier: MIT

// clientv3's side: side etcd HOST:PORT... All locks of one lease share a session, but
// those of one name: a session has one place in a name's queue.
package main

import (
	"os"
	"sync"
	"time"

	"go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

type place struct {
	name string
	ttl  time.Duration
}

type sessions struct {
	client *clientv3.Client
	mutex  sync.Mutex
	each   map[time.Duration][]*concurrency.Session
	taken  map[place]int
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// next is the session of the next lock of this name.
func (s *sessions) next(name string, ttl time.Duration) *concurrency.Session {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	number := s.taken[place{name, ttl}]
	s.taken[place{name, ttl}]++
	if number == len(s.each[ttl]) {
		seconds := int((ttl + time.Second - 1) / time.Second)
		s.each[ttl] = append(s.each[ttl], must(concurrency.NewSession(
			s.client, concurrency.WithTTL(seconds))))
	}
	return s.each[ttl][number]
}

func main() {
	client := must(clientv3.New(clientv3.Config{
		Endpoints: os.Args[2:], DialTimeout: 10 * time.Second}))
	all := sessions{client: client,
		each:  map[time.Duration][]*concurrency.Session{},
		taken: map[place]int{}}
	serve(func(name string, ttl time.Duration) pair {
		mutex := concurrency.NewMutex(all.next(name, ttl), name)
		return pair{
			func() {
				if err := mutex.Lock(client.Ctx()); err != nil {
					panic(err)
				}
			},
			func() {
				if err := mutex.Unlock(client.Ctx()); err != nil {
					panic(err)
				}
			},
		}
	})
}
