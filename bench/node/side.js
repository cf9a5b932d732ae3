// SPDX-License-Identifier: MIT
// The sides in Node: side.js redlock URL, or side.js redis-semaphore URL
// LIMIT; ../README.md has the lines it hears. All waiters share one
// connection.
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import Redlock from "redlock";
import redisSemaphore from "redis-semaphore";

const LEASE = 30000;
const [kind, url, limit] = process.argv.slice(2);
const redis = new Redis(url, { maxRetriesPerRequest: null });
const now = () => Number(process.hrtime.bigint());
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const answer = (what) => console.log(JSON.stringify(what));

// [acquire, release] of a name. By default both give up after a while.
function open(name, ttl = LEASE) {
  if (kind === "redis-semaphore") {
    const permit = new redisSemaphore.Semaphore(redis, name, Number(limit), {
      acquireTimeout: 600000,
    });
    return [() => permit.acquire(), () => permit.release()];
  }
  const locks = new Redlock([redis], { retryCount: -1 });
  let held;
  return [
    async () => (held = await locks.acquire([name], ttl)),
    () => held.release(),
  ];
}

const every = (count, body) =>
  Promise.all(Array.from({ length: count }, (_, number) => body(number)));

async function pairs(name, threads, seconds) {
  const calls = Array.from({ length: Number(threads) }, (_, i) =>
    open(`${name}-${i}`),
  );
  for (const [acquire, release] of calls) {
    await acquire(); // loads the scripts
    await release();
  }
  const times = [];
  const used = process.cpuUsage();
  const began = now();
  const ends = began + seconds * 1e9;
  await every(calls.length, async (number) => {
    const [acquire, release] = calls[number];
    let asked = now();
    do {
      await acquire();
      await release();
      const ended = now();
      times.push(ended - asked);
      asked = ended;
    } while (asked < ends);
  });
  const took = now() - began;
  const { user, system } = process.cpuUsage(used);
  times.sort((a, b) => a - b);
  answer({
    pairs: times.length,
    per_s: (times.length / took) * 1e9,
    p50_us: times[Math.floor(times.length / 2)] / 1000,
    p99_us: times[Math.floor((times.length - 1) * 0.99)] / 1000,
    cpu_us: (user + system) / times.length,
  });
}

async function crowd(name, waiters, holdUs) {
  answer("standing");
  const [, starts, ends] = (await lines.next()).value.split(" ").map(Number);
  // The difference of two large numbers would lose what they differ by.
  const begin = BigInt(Math.round(starts * 1e9));
  const since = () => Number(process.hrtime.bigint() - begin);
  const logs = await every(Number(waiters), async () => {
    const [acquire, release] = open(name);
    const log = [];
    await sleep(-since() / 1e6);
    while (!log.length || since() < (ends - starts) * 1e9) {
      log.push(since());
      await acquire();
      log.push(since());
      if (Number(holdUs)) await sleep(holdUs / 1000);
      await release();
    }
    return log;
  });
  answer(logs);
}

async function hold(name, ttl) {
  await open(name, Number(ttl))[0]();
  answer("held");
}

async function next(name, ttl) {
  const [acquire, release] = open(name, Number(ttl));
  answer("waiting");
  await acquire();
  answer(now());
  await release();
}

const verbs = { pairs, crowd, hold, next };
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
await redis.ping();
answer("ready");
for (let line = await lines.next(); !line.done; line = await lines.next()) {
  const [verb, ...words] = line.value.split(" ");
  await verbs[verb](...words);
}
process.exit(0);
