// Tests go-redis with a Honeycomb server, whose port is the argument. Exits with 0 if all results are correct.
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
)

func expect(what string, found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		fmt.Fprintf(os.Stderr, "%s: %v, not %v\n", what, found, expected)
		os.Exit(1)
	}
}

func talk(client *redis.Client) {
	ctx := context.Background()
	expect("FLUSHALL", client.FlushAll(ctx).Err(), nil)
	expect("SET", client.Set(ctx, "a", "1", 0).Err(), nil)
	expect("GET", client.Get(ctx, "a").Val(), "1")
	expect("absent", client.Get(ctx, "x").Err(), redis.Nil)
	expect("MSET", client.MSet(ctx, "b", "2", "c", "3").Err(), nil)
	expect("MGET", client.MGet(ctx, "a", "b", "x").Val(), []any{"1", "2", nil})
	expect("EXPIRE", client.Expire(ctx, "b", 100*time.Second).Val(), true)
	expect("TTL", client.TTL(ctx, "b").Val() > 98*time.Second, true)
	counts := [2]*redis.IntCmd{}
	_, err := client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		counts = [2]*redis.IntCmd{pipe.IncrBy(ctx, "a", 41), pipe.Incr(ctx, "c")}
		return nil
	})
	expect("MULTI", err, nil)
	expect("EXEC", []int64{counts[0].Val(), counts[1].Val()}, []int64{42, 4})
	keys := []string{}
	for pages := client.Scan(ctx, 0, "*", 2).Iterator(); pages.Next(ctx); {
		keys = append(keys, pages.Val())
	}
	expect("SCAN", keys, []string{"a", "b", "c"})
	found, err := client.Do(ctx, "RI.RANGE", "[a", "(c").StringSlice()
	expect("RI.RANGE error", err, nil)
	expect("RI.RANGE", found, []string{"a", "42", "b", "2"})
	found, _ = client.Do(ctx, "RI.SCAN", "bb", "FLOOR", "COUNT", 1, "FIELDS", "KEY").StringSlice()
	expect("RI.SCAN", found, []string{"b"})
	number, _ := client.Do(ctx, "RI.COUNT", "-", "+").Int()
	expect("RI.COUNT", number, 3)
	expect("CONFIG SET", client.ConfigSet(ctx, "slowlog-log-slower-than", "0").Err(), nil)
	expect("PING", client.Ping(ctx).Val(), "PONG")
	slow, err := client.SlowLogGet(ctx, 1).Result()
	expect("SLOWLOG error", err, nil)
	expect("SLOWLOG", slow[0].Args, []string{"ping"})
}

func main() {
	for _, protocol := range []int{2, 3} {
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1], Protocol: protocol})
		talk(client)
		expect("close", client.Close(), nil)
	}
}
