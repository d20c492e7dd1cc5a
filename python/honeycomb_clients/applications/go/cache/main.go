// Tests go-redis/cache with a server, whose port and password are the arguments. Exits with 0 if all results are
// correct.
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/go-redis/cache/v9"
	"github.com/redis/go-redis/v9"
)

type bee struct {
	Name   string
	Visits []int
}

func expect(what string, found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		fmt.Fprintf(os.Stderr, "%s: %v, not %v\n", what, found, expected)
		os.Exit(1)
	}
}

func values(ctx context.Context, client *redis.Client, kept *cache.Cache) {
	maja := bee{"Maja", []int{1, 2, 3}}
	expect("Set", kept.Set(&cache.Item{Ctx: ctx, Key: "a", Value: maja, TTL: time.Hour}), nil)
	found := bee{}
	expect("Get", kept.Get(ctx, "a", &found), nil)
	expect("what Get found", found, maja)
	expect("Get of nothing", kept.Get(ctx, "x", &found), cache.ErrCacheMiss)
	expect("Exists", []bool{kept.Exists(ctx, "a"), kept.Exists(ctx, "x")}, []bool{true, false})
	expect("SetNX", kept.Set(&cache.Item{Ctx: ctx, Key: "a", Value: bee{}, SetNX: true, TTL: time.Hour}), nil)
	expect("SetXX", kept.Set(&cache.Item{Ctx: ctx, Key: "x", Value: bee{}, SetXX: true, TTL: time.Hour}), nil)
	expect("Get after both", kept.GetSkippingLocalCache(ctx, "a", &found), nil)
	expect("what they left", []any{found, client.Exists(ctx, "x").Val()}, []any{maja, int64(0)})
	expect("Delete", kept.Delete(ctx, "a"), nil)
	expect("after Delete", kept.Get(ctx, "a", &found), cache.ErrCacheMiss)
}

// If several goroutines request an absent value at once, one of them creates it.
func once(ctx context.Context, kept *cache.Cache) {
	var calls, all sync.Mutex
	made := 0
	group := sync.WaitGroup{}
	for range 20 {
		group.Go(func() {
			found := ""
			err := kept.Once(&cache.Item{Ctx: ctx, Key: "once", Value: &found, Do: func(*cache.Item) (any, error) {
				calls.Lock()
				defer calls.Unlock()
				made++
				time.Sleep(50 * time.Millisecond)
				return "made", nil
			}})
			all.Lock()
			defer all.Unlock()
			expect("Once", []any{err, found}, []any{nil, "made"})
		})
	}
	group.Wait()
	expect("how often it was made", made, 1)
}

func expiry(ctx context.Context, client *redis.Client, kept *cache.Cache) {
	expect("Set", kept.Set(&cache.Item{Ctx: ctx, Key: "short", Value: 1, TTL: time.Second}), nil)
	expect("Set without TTL", kept.Set(&cache.Item{Ctx: ctx, Key: "hour", Value: 1}), nil)
	expect("an hour", client.TTL(ctx, "hour").Val() > 59*time.Minute, true)
	time.Sleep(1100 * time.Millisecond)
	expect("short", kept.Exists(ctx, "short"), false)
}

func main() {
	ctx := context.Background()
	options := &redis.Options{Addr: "127.0.0.1:" + os.Args[1]}
	if len(os.Args) > 2 {
		options.Password = os.Args[2]
	}
	client := redis.NewClient(options)
	for _, local := range []cache.LocalCache{nil, cache.NewTinyLFU(1000, 200*time.Millisecond)} {
		expect("FLUSHDB", client.FlushDB(ctx).Err(), nil)
		kept := cache.New(&cache.Options{Redis: client, LocalCache: local})
		values(ctx, client, kept)
		once(ctx, kept)
		expiry(ctx, client, kept)
	}
	expect("close", client.Close(), nil)
}
