// SPDX-License-Identifier: MIT

// One lock from Node, by koffi over the C ABI. Waiting happens on a thread of
// Node's pool, so the event loop goes on; try once (0) where waits are many.
'use strict';

const koffi = require('koffi');
const { promisify } = require('node:util');

const library = koffi.load('libinterlock.so.0');
const Client = koffi.opaque('ilk_client');
const Lock = koffi.opaque('ilk_lock');
const Failure = koffi.struct('ilk_error', {
  code: 'int32_t',
  msg: koffi.array('char', 252),
});
const client_p = koffi.out(koffi.pointer(Client, 2));
const lock_p = koffi.out(koffi.pointer(Lock, 2));
const err_p = koffi.out(koffi.pointer(Failure));
const [client_t, lock_t] = [koffi.pointer(Client), koffi.pointer(Lock)];

const c = {
  clientOpen: library.func('ilk_client_open', 'int',
    [client_p, 'str', 'void *', err_p]),
  clientFree: library.func('ilk_client_free', 'void', [client_t]),
  lockOpen: library.func('ilk_lock_open', 'int',
    [lock_p, client_t, 'void *', 'size_t', 'void *', err_p]),
  lockAcquire: library.func('ilk_lock_acquire', 'int',
    [lock_t, 'int64_t', err_p]),
  lockFence: library.func('ilk_lock_fence', 'int64_t', [lock_t]),
  lockRelease: library.func('ilk_lock_release', 'int', [lock_t, err_p]),
  lockFree: library.func('ilk_lock_free', 'void', [lock_t]),
};

function check(status, err) {
  if (status !== 0) throw new Error(`${err.msg} (${err.code})`);
}

async function main() {
  const [client, lock, err] = [[null], [null], {}];
  const name = Buffer.from('orders');

  check(c.clientOpen(client, null, null, err), err);
  check(c.lockOpen(lock, client[0], name, name.length, null, err), err);
  check(await promisify(c.lockAcquire.async)(lock[0], 5000, err), err);
  console.log('fence', c.lockFence(lock[0]));
  check(c.lockRelease(lock[0], err), err);
  c.lockFree(lock[0]);
  c.clientFree(client[0]);
}

main().catch((problem) => {
  console.error(problem.message);
  process.exitCode = 1;
});
