// SPDX-License-Identifier: MIT
// node-redlock behind the line protocol of ../../peers.py, on one server or several.
"use strict";

const readline = require("node:readline");
const Redis = require("ioredis");
const { default: Redlock, ResourceLockedError } = require("redlock");

const RETRY_MS = 50;
// A command to a server that is away fails with the next try to connect.
const servers = process.argv.slice(2).map((url) => {
  const server = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => RETRY_MS });
  return server.on("error", () => {}); // the command fails as well
});
let held = null;

// Busy is when in each round a server voted against because the key was there.
async function isBusy(error) {
  const rounds = await Promise.all(error.attempts || []);
  const isLocked = (vote) => vote instanceof ResourceLockedError;
  return (
    rounds.length > 0 &&
    rounds.every((round) => [...round.votesAgainst.values()].some(isLocked))
  );
}

async function acquire(name, ttl, wait) {
  const polling = {
    retryCount: Math.floor(Number(wait || 0) / RETRY_MS),
    retryDelay: RETRY_MS,
    retryJitter: 0,
    automaticExtensionThreshold: 0,
  };
  const locks = new Redlock(servers, wait === "default" ? {} : polling);
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
  await Promise.all(servers.map((server) => server.ping()));
  console.log("ready");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(await answer(line));
  }
  for (const server of servers) server.disconnect();
}

main();
