// Tests an Express application with sessions by connect-redis. Port and password of the server are the arguments.
import assert from "node:assert/strict";
import { once } from "node:events";
import { RedisStore } from "connect-redis";
import express from "express";
import session from "express-session";
import { createClient } from "redis";

const [port, password] = [Number(process.argv[2]), process.argv[3]];

function application(store) {
  const app = express();
  app.use(session({ store, secret: "of this test", resave: false, saveUninitialized: false }));
  app.get("/visit", (request, response) => {
    request.session.visits = (request.session.visits ?? 0) + 1;
    response.json(request.session.visits);
  });
  app.get("/leave", (request, response) => request.session.destroy(() => response.json("left")));
  return app;
}

// The requests of one browser, which keeps its cookie.
function browser(address) {
  let cookie = "";
  return async (path) => {
    const response = await fetch(address + path, { headers: { cookie } });
    cookie = response.headers.get("set-cookie")?.split(";")[0] ?? cookie;
    return response.json();
  };
}

async function visits(address, store) {
  const [first, second] = [browser(address), browser(address)];
  assert.deepEqual([await first("/visit"), await first("/visit"), await second("/visit")], [1, 2, 1]);
  assert.equal(await store.length(), 2);
  assert.equal(await first("/leave"), "left");
  assert.deepEqual([await first("/visit"), await second("/visit")], [1, 2]);
}

async function withoutBrowser(store, client) {
  const one = { cookie: { originalMaxAge: 100_000 }, user: "bee" };
  await store.set("one", one);
  assert.deepEqual(await store.get("one"), one);
  assert.equal(await store.get("no such session"), null);
  await store.touch("one", one);
  const ttl = await client.ttl("app:one");
  assert.ok(ttl > 80_000 && ttl <= 86_400, `one day, not ${ttl}`);
  assert.ok((await store.ids()).includes("one"));
  assert.ok((await store.all()).some((found) => found.id === "one" && found.user === "bee"));
  await store.destroy("one");
  assert.equal(await store.get("one"), null);
  await store.clear();
  assert.equal(await store.length(), 0);
}

const client = createClient({ socket: { host: "127.0.0.1", port }, password });
await client.connect();
const store = new RedisStore({ client, prefix: "app:" });
const server = application(store).listen(0, "127.0.0.1");
await once(server, "listening");
await visits(`http://127.0.0.1:${server.address().port}`, store);
await withoutBrowser(store, client);
server.closeAllConnections();
server.close();
await client.close();
