// SPDX-License-Identifier: MIT

// redsync's side: side redsync URL... Several servers are a quorum.
package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func connected(url string) redsyncredis.Pool {
	options, err := redis.ParseURL(url)
	if err != nil {
		panic(err)
	}
	client := redis.NewClient(options)
	if err := client.Ping(context.Background()).Err(); err != nil {
		panic(err)
	}
	return goredis.NewPool(client)
}

func main() {
	var pools []redsyncredis.Pool
	for _, url := range os.Args[2:] {
		pools = append(pools, connected(url))
	}
	all := redsync.New(pools...)
	// Its default gives up after 32 tries.
	serve(func(name string, ttl time.Duration) pair {
		mutex := all.NewMutex(name, redsync.WithExpiry(ttl),
			redsync.WithTries(math.MaxInt))
		return pair{
			func() {
				if err := mutex.Lock(); err != nil {
					panic(err)
				}
			},
			func() {
				if released, err := mutex.Unlock(); err != nil || !released {
					panic(fmt.Sprint("not released: ", err))
				}
			},
		}
	})
}
