// SPDX-License-Identifier: MIT
// redis-semaphore's side of the crowd, as c/crowd.c: semaphore.js URL NAME
// WAITERS STARTS ENDS LIMIT. The waiters share one connection.
import { Redis } from "ioredis";
import redisSemaphore from "redis-semaphore";

const [url, name] = process.argv.slice(2, 4);
const [waiters, starts, ends, limit] = process.argv.slice(4).map(Number);
const redis = new Redis(url, { maxRetriesPerRequest: null });
const begin = BigInt(Math.round(starts * 1e9));
const span = (ends - starts) * 1e9;
const now = () => Number(process.hrtime.bigint() - begin);

async function wait(log) {
  const permit = new redisSemaphore.Semaphore(redis, name, limit, {
    acquireTimeout: 60000,
  });
  while (now() < span) {
    log.push(now());
    await permit.acquire();
    log.push(now());
    await permit.release();
  }
}

await redis.ping();
await new Promise((resolve) => setTimeout(resolve, -now() / 1e6));
const logs = Array.from({ length: waiters }, () => []);
await Promise.all(logs.map(wait));
console.log(JSON.stringify(logs));
process.exit(0);
