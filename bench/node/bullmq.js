// SPDX-License-Identifier: MIT
// BullMQ's side of the queue: bullmq.js PORT push|take BATCH MESSAGES.
//
// BATCH 1 awaits each add and works on one job at a time; above that jobs are
// added in bulk and worked on BATCH at a time. Nothing is kept of a job that
// is done, as we keep nothing.
import { Queue, Worker } from "bullmq";

const [port, what, batch, messages] = process.argv
  .slice(2)
  .map((word) => (/^\d+$/.test(word) ? Number(word) : word));
const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
const data = { body: "x".repeat(200) };
const opts = { removeOnComplete: true, removeOnFail: true };

async function push() {
  const queue = new Queue("bench", { connection });
  await queue.waitUntilReady();
  const began = performance.now();
  for (let done = 0; done < messages; done += batch) {
    if (batch === 1) await queue.add("job", data, opts);
    else
      await queue.addBulk(Array(batch).fill({ name: "job", data, opts }));
  }
  const spent = performance.now() - began;
  await queue.close();
  return spent;
}

async function take() {
  let done = 0;
  let began;
  await new Promise((resolve) => {
    began = performance.now();
    const worker = new Worker("bench", async () => {}, {
      connection,
      concurrency: batch,
    });
    worker.on("error", (error) => {
      console.error(error);
      process.exit(1);
    });
    worker.on("completed", () => {
      if (++done === messages) worker.close().then(resolve);
    });
  });
  return performance.now() - began;
}

const spent = await (what === "push" ? push() : take());
console.log(JSON.stringify({ messages, per_s: (messages * 1000) / spent }));
process.exit(0);
