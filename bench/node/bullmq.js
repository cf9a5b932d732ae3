// SPDX-License-Identifier: MIT
// BullMQ's side of the queue: bullmq.js URL; it hears push BATCH MESSAGES and
// take BATCH MESSAGES.
//
// BATCH 1 awaits each add and works on one job at a time; above that jobs are
// added in bulk and worked on BATCH at a time. Nothing is kept of a job that
// is done, as we keep nothing.
import { createInterface } from "node:readline";
import { Queue, Worker } from "bullmq";

const { hostname, port } = new URL(process.argv[2]);
const connection = {
  host: hostname,
  port: Number(port),
  maxRetriesPerRequest: null,
};
const data = { body: "x".repeat(200) };
const opts = { removeOnComplete: true, removeOnFail: true };

async function push(batch, messages) {
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

async function take(batch, messages) {
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

console.log('"ready"');
for await (const line of createInterface({ input: process.stdin })) {
  const [verb, ...words] = line.split(" ");
  const [batch, messages] = words.map(Number);
  const used = process.cpuUsage();
  const spent = await { push, take }[verb](batch, messages);
  const { user, system } = process.cpuUsage(used);
  console.log(
    JSON.stringify({
      messages,
      per_s: (messages * 1000) / spent,
      cpu_us: (user + system) / messages,
    }),
  );
}
process.exit(0);
