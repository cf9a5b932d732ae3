/* SPDX-License-Identifier: MIT */
/*
 * lua_store.h -- a server's data and commands in Lua (tests/sim/store.lua), and
 * the library's own scripts run over it. One thread at a time.
 */
#ifndef ILK__LUA_STORE_H
#define ILK__LUA_STORE_H

#include "redis/reply.h"

#include <lua.h>

typedef struct lua_store {
    lua_State *lua;
    int *scripts; /* compiled, in Lua's registry */
} lua_store;

/* The functions of Lua that the scripts need of the world. */
typedef struct lua_store_world {
    lua_CFunction clock_us;    /* () -> the server's time */
    lua_CFunction publish;     /* (channel, message) -> receivers */
    lua_CFunction subscribers; /* (channel) -> receivers of a message */
    lua_CFunction channels;    /* () -> those that have subscribers */
} lua_store_world;

/* 0; -1 after a message on standard error. */
int lua_store_open(lua_store *store, const lua_store_world *world);
void lua_store_close(lua_store *store);

/* Run a script: `number` is the request's. Returns the reply as RESP, valid until
 * the next call. */
const char *lua_store_run(lua_store *store, int script, ilk__reply *const *keys,
                          size_t key_count, ilk__reply *const *args,
                          size_t arg_count, int64_t number, size_t *out_len);
/* Compile a script and run it. */
const char *lua_store_eval(lua_store *store, const ilk__reply *text,
                           ilk__reply *const *keys, size_t key_count,
                           ilk__reply *const *args, size_t arg_count,
                           size_t *out_len);
/* Run a plain command. */
const char *lua_store_command(lua_store *store, ilk__reply *const *words,
                              size_t count, size_t *out_len);

#endif
