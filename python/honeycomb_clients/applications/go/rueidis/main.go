// Tests rueidis with a server, whose port and password are the arguments. Exits with 0 if all results are correct. The
// cache of the client is off, because it needs CLIENT TRACKING. The test omits Lua, locks, and publish and subscribe.
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

func expect(what string, found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		fmt.Fprintf(os.Stderr, "%s: %v, not %v\n", what, found, expected)
		os.Exit(1)
	}
}

func values(ctx context.Context, client rueidis.Client) {
	do := func(command rueidis.Completed) rueidis.RedisResult { return client.Do(ctx, command) }
	text := func(command rueidis.Completed) string {
		found, err := do(command).ToString()
		expect("error", err, nil)
		return found
	}
	number := func(command rueidis.Completed) int64 {
		found, err := do(command).AsInt64()
		expect("error", err, nil)
		return found
	}
	b := client.B
	expect("SET", do(b().Set().Key("a").Value("1").Ex(100*time.Second).Build()).Error(), nil)
	expect("GET", text(b().Get().Key("a").Build()), "1")
	expect("GET of nothing", rueidis.IsRedisNil(do(b().Get().Key("x").Build()).Error()), true)
	expect("SET NX", rueidis.IsRedisNil(do(b().Set().Key("a").Value("2").Nx().Build()).Error()), true)
	expect("TTL", number(b().Ttl().Key("a").Build()) > 98, true)
	expect("SETEX", do(b().Setex().Key("s").Seconds(100).Value("1").Build()).Error(), nil)
	expect("INCRBY", number(b().Incrby().Key("a").Increment(41).Build()), int64(42))
	float, err := do(b().Incrbyfloat().Key("a").Increment(0.5).Build()).AsFloat64()
	expect("INCRBYFLOAT", []any{float, err}, []any{42.5, nil})
	expect("MSET", do(b().Mset().KeyValue().KeyValue("b", "2").KeyValue("c", "3").Build()).Error(), nil)
	found, err := rueidis.MGet(client, ctx, []string{"b", "c", "x"})
	expect("MGet", []any{len(found), err}, []any{3, nil})
	c := found["c"]
	second, _ := c.ToString()
	expect("MGet of c", second, "3")
	expect("GETEX", text(b().Getex().Key("b").Px(1000*time.Millisecond).Build()), "2")
	time.Sleep(1200 * time.Millisecond)
	expect("EXISTS", number(b().Exists().Key("a", "b", "c").Build()), int64(2))
	expect("GETDEL", text(b().Getdel().Key("c").Build()), "3")
	expect("DEL", number(b().Del().Key("a", "b", "c").Build()), int64(1))
	expect("SETBIT", number(b().Setbit().Key("bits").Offset(7).Value(1).Build()), int64(0))
	expect("BITCOUNT", number(b().Bitcount().Key("bits").Build()), int64(1))
}

// Commands of several goroutines go over one connection, as one pipeline.
func together(ctx context.Context, client rueidis.Client) {
	group := sync.WaitGroup{}
	for range 50 {
		group.Go(func() {
			for range 20 {
				expect("INCR", client.Do(ctx, client.B().Incr().Key("n").Build()).Error(), nil)
			}
		})
	}
	group.Wait()
	commands := rueidis.Commands{}
	for key := range 1000 {
		commands = append(commands, client.B().Set().Key(fmt.Sprintf("key%03d", key)).Value("x").Build())
	}
	for _, reply := range client.DoMulti(ctx, commands...) {
		expect("DoMulti", reply.Error(), nil)
	}
	found, _ := client.Do(ctx, client.B().Get().Key("n").Build()).ToString()
	expect("the sum", found, "1000")
	keys, cursor := map[string]bool{}, uint64(0)
	for {
		page, err := client.Do(ctx, client.B().Scan().Cursor(cursor).Match("key*").Count(100).Build()).AsScanEntry()
		expect("SCAN", err, nil)
		for _, key := range page.Elements {
			keys[key] = true
		}
		if cursor = page.Cursor; cursor == 0 {
			break
		}
	}
	expect("keys", len(keys), 1000)
}

func transaction(ctx context.Context, client rueidis.Client) {
	err := client.Dedicated(func(one rueidis.DedicatedClient) error {
		expect("WATCH", one.Do(ctx, one.B().Watch().Key("n").Build()).Error(), nil)
		replies := one.DoMulti(ctx, one.B().Multi().Build(), one.B().Incr().Key("n").Build(), one.B().Exec().Build())
		sums, err := replies[2].AsIntSlice()
		expect("EXEC", []any{sums, err}, []any{[]int64{1001}, nil})
		return nil
	})
	expect("Dedicated", err, nil)
}

func main() {
	options := rueidis.ClientOption{InitAddress: []string{"127.0.0.1:" + os.Args[1]}, DisableCache: true}
	if len(os.Args) > 2 {
		options.Password = os.Args[2]
	}
	ctx := context.Background()
	for _, database := range []int{0, 3} {
		options.SelectDB = database
		client, err := rueidis.NewClient(options)
		expect("connect", err, nil)
		expect("FLUSHDB", client.Do(ctx, client.B().Flushdb().Build()).Error(), nil)
		values(ctx, client)
		together(ctx, client)
		transaction(ctx, client)
		client.Close()
	}
}
