// Tests Keyv with a server, whose port and password are the arguments.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import KeyvRedis from "@keyv/redis";
import Keyv from "keyv";

const [port, password] = [Number(process.argv[2]), process.argv[3]];
const options = { socket: { host: "127.0.0.1", port }, password };

async function values(keyv) {
  assert.equal(await keyv.set("a", { x: [1, 2] }), true);
  assert.deepEqual(await keyv.get("a"), { x: [1, 2] });
  assert.equal(await keyv.get("no such key"), undefined);
  assert.deepEqual([await keyv.has("a"), await keyv.has("no such key")], [true, false]);
  assert.deepEqual([await keyv.delete("a"), await keyv.delete("a"), await keyv.has("a")], [true, false, false]);
  await keyv.setMany([{ key: "b", value: 1 }, { key: "c", value: 2, ttl: 100_000 }]);
  assert.deepEqual(await keyv.getMany(["b", "c", "d"]), [1, 2, undefined]);
  assert.deepEqual(await keyv.hasMany(["b", "d"]), [true, false]);
  assert.equal(await keyv.deleteMany(["b", "c"]), true);
  assert.deepEqual(await keyv.getMany(["b", "c"]), [undefined, undefined]);
}

async function expiry(keyv) {
  await keyv.set("short", 1, 1000);
  await keyv.set("long", 1, 100_000);
  assert.deepEqual(await keyv.getMany(["short", "long"]), [1, 1]);
  await sleep(1200);
  assert.deepEqual(await keyv.getMany(["short", "long"]), [undefined, 1]);
}

const make = (namespace) => new Keyv(new KeyvRedis(options), { namespace });
const keyvs = [undefined, "one", "two"].map(make);
for (const keyv of keyvs) {
  keyv.on("error", (error) => assert.fail(error));
  await values(keyv);
  await expiry(keyv);
}

// Namespaces are independent: clearing one does not affect the other.
const [, one, two] = keyvs;
for (let number = 0; number < 300; number++) await one.set(`key${number}`, number);
await two.set("key0", "of two");
const found = [];
for await (const [key] of one.iterator()) found.push(key);
assert.equal(found.length, 301, "with the long one of before");
await one.clear();
assert.deepEqual([await one.get("key0"), await two.get("key0")], [undefined, "of two"]);
await Promise.all(keyvs.map((keyv) => keyv.disconnect()));
