// SPDX-License-Identifier: MIT
// node-redlock behind the line protocol of ../../peers.py.
"use strict";

const readline = require("node:readline");
const Redis = require("ioredis");
const { default: Redlock, ResourceLockedError } = require("redlock");

const RETRY_MS = 50;
const server = new Redis(process.argv[2]);
let held = null;

// Busy is when every server voted against because the key was there.
async function isBusy(error) {
  const rounds = await Promise.all(error.attempts || []);
  const votes = rounds.flatMap((round) => [...round.votesAgainst.values()]);
  return votes.length > 0 && votes.every((vote) => vote instanceof ResourceLockedError);
}

async function acquire(name, ttl, wait) {
  const locks = new Redlock([server], {
    retryCount: Math.floor(Number(wait || 0) / RETRY_MS),
    retryDelay: RETRY_MS,
    retryJitter: 0,
    automaticExtensionThreshold: 0,
  });
  locks.on("error", () => {}); // told by the rejected promise as well
  try {
    held = await locks.acquire(name.split(","), Number(ttl));
    return "ok";
  } catch (error) {
    if (await isBusy(error)) return "busy";
    throw error;
  }
}

// node-redlock reports an expired lock as a failed quorum.
async function release() {
  const lock = held;
  held = null;
  try {
    await lock.release();
    return "ok";
  } catch (error) {
    if (error.name === "ExecutionError") return "lost";
    throw error;
  }
}

async function answer(line) {
  const [verb, ...words] = line.split(" ");
  try {
    if (verb === "acquire") return await acquire(...words);
    if (verb === "release") return await release();
    return `error unknown verb ${verb}`;
  } catch (error) {
    return `error ${error.message}`;
  }
}

async function main() {
  await server.ping();
  console.log("ready");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(await answer(line));
  }
  server.disconnect();
}

main();
