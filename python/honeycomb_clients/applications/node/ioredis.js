// Tests ioredis with a server, whose port and password are the arguments. The test omits custom commands, which
// are scripts.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";

const [port, password] = [Number(process.argv[2]), process.argv[3]];

async function values(redis) {
  assert.equal(await redis.set("a", "1"), "OK");
  assert.equal(await redis.get("a"), "1");
  assert.equal(await redis.get("no such key"), null);
  assert.equal(await redis.set("a", "2", "EX", 100, "NX"), null);
  assert.equal(await redis.set("a", "2", "GET"), "1");
  assert.deepEqual(await redis.getBuffer("a"), Buffer.from("2"));
  assert.equal(await redis.setnx("b", "3"), 1);
  assert.equal(await redis.getset("b", "4"), "3");
  assert.equal(await redis.mset({ c: "5", d: "6" }), "OK");
  assert.deepEqual(await redis.mget("a", "b", "c", "no such key"), ["2", "4", "5", null]);
  assert.deepEqual([await redis.incr("a"), await redis.incrby("a", 7), await redis.decr("a")], [3, 10, 9]);
  assert.equal(await redis.incrbyfloat("a", 0.5), "9.5");
  assert.equal(await redis.append("b", "xyz"), 4);
  assert.deepEqual([await redis.strlen("b"), await redis.getrange("b", 1, -1)], [4, "xyz"]);
  assert.deepEqual([await redis.del("a", "b"), await redis.unlink("c"), await redis.exists("d", "a")], [2, 1, 1]);
  assert.deepEqual([await redis.rename("d", "e"), await redis.get("e")], ["OK", "6"]);
  await redis.set("f", "x");
  await assert.rejects(redis.incr("f"), { name: "ReplyError", message: /not an integer/ });
  await assert.rejects(redis.call("NOSUCH", "f"), { name: "ReplyError", message: /unknown command 'NOSUCH'/ });
}

async function expiry(redis) {
  await redis.set("short", "1", "PX", 1000);
  await redis.setex("long", 100, "1");
  await redis.psetex("longer", 100_000, "1");
  assert.ok((await redis.ttl("long")) > 98 && (await redis.pttl("longer")) > 98_000);
  assert.deepEqual([await redis.expire("long", 50), await redis.persist("longer")], [1, 1]);
  assert.deepEqual([(await redis.ttl("long")) <= 50, await redis.ttl("longer")], [true, -1]);
  await sleep(1200);
  assert.equal(await redis.get("short"), null);
}

async function many(redis) {
  const writes = redis.pipeline();
  for (let number = 0; number < 1000; number++) writes.set(`many:${number}`, number);
  assert.ok((await writes.exec()).every(([error, reply]) => error === null && reply === "OK"));
  const found = new Set();
  for await (const keys of redis.scanStream({ match: "many:*", count: 100 })) keys.forEach((key) => found.add(key));
  assert.equal(found.size, 1000);
  assert.equal((await redis.keys("many:99?")).length, 10);
  const reads = await Promise.all([...found].map((key) => redis.get(key)));
  assert.equal(reads.reduce((sum, number) => sum + Number(number), 0), 499_500);
}

async function transactions(redis) {
  assert.deepEqual(await redis.multi().set("n", 1).incrby("n", 41).get("n").exec(), [
    [null, "OK"], [null, 42], [null, "42"],
  ]);
  await redis.watch("n");
  await redis.duplicate().incr("n");
  assert.equal(await redis.multi().set("n", 0).exec(), null);
  assert.equal(await redis.get("n"), "43");
}

async function information(redis) {
  assert.match(await redis.info("server"), /redis_version:\d/);
  assert.equal(await redis.client("SETNAME", "me"), "OK");
  assert.equal(await redis.client("GETNAME"), "me");
  assert.equal(Math.abs((await redis.time())[0] - Date.now() / 1000) < 5, true);
  assert.equal((await redis.command("COUNT")) > 50, true);
}

const opened = [];
for (const options of [{}, { keyPrefix: "app:", db: 3 }, { enableAutoPipelining: true, connectionName: "app" }]) {
  const redis = new Redis({ port, password, ...options });
  const duplicate = redis.duplicate.bind(redis);
  redis.duplicate = () => opened.at(opened.push(duplicate()) - 1);
  opened.push(redis);
  await redis.flushdb();
  await values(redis);
  await expiry(redis);
  if (!options.keyPrefix) await many(redis);
  if (!options.enableAutoPipelining) await transactions(redis);
  await information(redis);
}
await Promise.all(opened.map((redis) => redis.quit()));
