-- SPDX-License-Identifier: MIT
-- The rock, built from a checkout: luarocks make lua/interlock-scm-1.rockspec
--
-- It needs a C compiler, CMake, SWIG and Python 3; hiredis is the system's or
-- fetched, as for the library (ILK_HIREDIS). The core is inside the module; backends
-- of other stores are not: INTERLOCK_BACKENDS names the directory of the C library's.
rockspec_format = "3.0"
package = "interlock"
version = "scm-1"
source = {
  -- Only `luarocks install` reads it; `make` takes the checkout it stands in.
  url = "git+file://.",
}
description = {
  summary = "Locks and semaphores that many processes share through one Redis or Valkey",
  detailed = [[
    Fair locks with leases, fences and renewal, read-write locks, locks over
    many names and semaphores, held across processes, hosts and languages.]],
  license = "MIT",
}
supported_platforms = { "unix" }
dependencies = {
  "lua >= 5.1, < 5.5",
}
build = {
  type = "command",
  build_command = [[
    cmake -S . -B build/rock -DCMAKE_BUILD_TYPE=Release -DILK_LUA=ON \
      -DILK_CLI=OFF -DILK_TESTS=OFF -DILK_BACKENDS=OFF "-DILK_LUA_INCLUDE_DIR=$(LUA_INCDIR)" &&
    cmake --build build/rock --target ilk_core_rock]],
  install = {
    lua = {
      ["interlock"] = "lua/interlock/init.lua",
      ["interlock.args"] = "lua/interlock/args.lua",
      ["interlock.at_close"] = "lua/interlock/at_close.lua",
      ["interlock.barrier"] = "lua/interlock/barrier.lua",
      ["interlock.client"] = "lua/interlock/client.lua",
      ["interlock.constants"] = "lua/interlock/constants.lua",
      ["interlock.consumer"] = "lua/interlock/consumer.lua",
      ["interlock.election"] = "lua/interlock/election.lua",
      ["interlock.event"] = "lua/interlock/event.lua",
      ["interlock.group"] = "lua/interlock/group.lua",
      ["interlock.guard"] = "lua/interlock/guard.lua",
      ["interlock.hold"] = "lua/interlock/hold.lua",
      ["interlock.inspect"] = "lua/interlock/inspect.lua",
      ["interlock.job"] = "lua/interlock/job.lua",
      ["interlock.kept_holds"] = "lua/interlock/kept_holds.lua",
      ["interlock.kv"] = "lua/interlock/kv.lua",
      ["interlock.latch"] = "lua/interlock/latch.lua",
      ["interlock.lock"] = "lua/interlock/lock.lua",
      ["interlock.lock_many"] = "lua/interlock/lock_many.lua",
      ["interlock.notification"] = "lua/interlock/notification.lua",
      ["interlock.object"] = "lua/interlock/object.lua",
      ["interlock.op"] = "lua/interlock/op.lua",
      ["interlock.options"] = "lua/interlock/options.lua",
      ["interlock.queue"] = "lua/interlock/queue.lua",
      ["interlock.recipe_result"] = "lua/interlock/recipe_result.lua",
      ["interlock.recipes"] = "lua/interlock/recipes.lua",
      ["interlock.record"] = "lua/interlock/record.lua",
      ["interlock.register"] = "lua/interlock/register.lua",
      ["interlock.store"] = "lua/interlock/store.lua",
      ["interlock.ring"] = "lua/interlock/ring.lua",
      ["interlock.rwlock"] = "lua/interlock/rwlock.lua",
      ["interlock.semaphore"] = "lua/interlock/semaphore.lua",
      ["interlock.server"] = "lua/interlock/server.lua",
      ["interlock.signal"] = "lua/interlock/signal.lua",
      ["interlock.transferable_hold"] = "lua/interlock/transferable_hold.lua",
      ["interlock.wait"] = "lua/interlock/wait.lua",
      ["interlock.worker"] = "lua/interlock/worker.lua",
    },
    lib = {
      ["interlock.core"] = "build/rock/lua/rock/interlock/core.so",
    },
  },
}
