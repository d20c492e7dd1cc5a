// Tests node-redis with a Honeycomb server, whose port is the argument. Exits with 0 if all results are correct.
import assert from "node:assert/strict";
import { createClient } from "redis";

async function talk(client) {
  await client.flushAll();
  await client.set("a", "1");
  assert.equal(await client.get("a"), "1");
  assert.equal(await client.get("x"), null);
  await client.mSet({ b: "2", c: "3" });
  assert.deepEqual(await client.mGet(["a", "b", "x"]), ["1", "2", null]);
  assert.equal(await client.expire("b", 100), 1);
  assert.ok((await client.ttl("b")) > 98);
  assert.deepEqual(await client.multi().incrBy("a", 41).incr("c").exec(), [42, 4]);
  const keys = [];
  for await (const page of client.scanIterator({ COUNT: 2 })) keys.push(...page);
  assert.deepEqual(keys, ["a", "b", "c"]);
  assert.deepEqual(await client.sendCommand(["RI.RANGE", "[a", "(c"]), ["a", "42", "b", "2"]);
  const floor = ["RI.SCAN", "bb", "FLOOR", "COUNT", "1", "FIELDS", "KEY"];
  assert.deepEqual(await client.sendCommand(floor), ["b"]);
  assert.equal(await client.sendCommand(["RI.COUNT", "-", "+"]), 3);
  await assert.rejects(client.sendCommand(["INCRBY", "a", "x"]), /ERR value is not an integer/);
}

for (const RESP of [2, 3]) {
  const client = createClient({ socket: { host: "127.0.0.1", port: Number(process.argv[2]) }, RESP });
  await client.connect();
  await talk(client);
  await client.close();
}
