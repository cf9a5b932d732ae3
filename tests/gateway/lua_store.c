/* SPDX-License-Identifier: MIT */
/* lua_store.c -- scripts and commands over store.lua, with replies as RESP. */
#include "lua_store.h"

#include "redis/script.h"

#include <lauxlib.h>
#include <lualib.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const lua_store *store, int error)
{
    if (error)
        fprintf(stderr, "store: %s\n", lua_tostring(store->lua, -1));
    return error;
}

static int compile(lua_store *store, int i)
{
    const ilk__script *script = &ilk__scripts[i];

    if (failed(store, luaL_loadbuffer(store->lua, script->text,
                                      script->text_len, script->name)))
        return -1;
    store->scripts[i] = luaL_ref(store->lua, LUA_REGISTRYINDEX);
    return 0;
}

int lua_store_open(lua_store *store, const lua_store_world *world)
{
    int bad;

    store->scripts = calloc(ILK__SCRIPT_COUNT, sizeof *store->scripts);
    store->lua = luaL_newstate();
    if (!store->scripts || !store->lua)
        return -1;
    luaL_openlibs(store->lua);
    lua_register(store->lua, "clock_us", world->clock_us);
    lua_register(store->lua, "publish", world->publish);
    lua_register(store->lua, "subscribers", world->subscribers);
    lua_register(store->lua, "channels", world->channels);
    bad = failed(store, luaL_dofile(store->lua, ILK_SIM_STORE));
    for (int i = 0; !bad && i < ILK__SCRIPT_COUNT; i++)
        bad = compile(store, i);
    return bad ? -1 : 0;
}

void lua_store_close(lua_store *store)
{
    lua_close(store->lua);
    free(store->scripts);
}

/* ---- running ------------------------------------------------------------ */

/* Call the Lua function below its arguments on the stack, which returns one
 * value. An error would be the store's own. */
static void call(lua_store *store, int args)
{
    if (failed(store, lua_pcall(store->lua, args, 1, 0)))
        abort();
}

/* Call the Lua function below its arguments on the stack; its reply as RESP stays
 * on the stack, which is emptied by the next call. */
static const char *wire_of_call(lua_store *store, int args, size_t *out_len)
{
    call(store, args);
    lua_getglobal(store->lua, "wire_of");
    lua_insert(store->lua, -2);
    call(store, 1);
    return lua_tolstring(store->lua, -1, out_len);
}

static void must_have_room(lua_store *store, size_t count)
{
    if (!lua_checkstack(store->lua, (int)count + 16))
        abort();
}

static void push_items(lua_store *store, ilk__reply *const *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lua_pushlstring(store->lua, items[i]->str, items[i]->len);
}

/* Make a table of the uppermost strings of the stack. */
static void make_list(lua_store *store, size_t count)
{
    lua_createtable(store->lua, (int)count, 0);
    lua_insert(store->lua, -(int)count - 1);
    for (size_t i = count; i > 0; i--)
        lua_rawseti(store->lua, -(int)i - 1, (int)i);
}

const char *lua_store_run(lua_store *store, int script, ilk__reply *const *keys,
                          size_t key_count, ilk__reply *const *args,
                          size_t arg_count, int64_t number, size_t *out_len)
{
    char text[32];

    lua_settop(store->lua, 0);
    must_have_room(store, key_count + arg_count);
    lua_getglobal(store->lua, "run_script");
    lua_rawgeti(store->lua, LUA_REGISTRYINDEX, store->scripts[script]);
    push_items(store, keys, key_count);
    make_list(store, key_count);
    push_items(store, args, arg_count);
    snprintf(text, sizeof text, "%" PRId64, number);
    lua_pushstring(store->lua, text);
    make_list(store, arg_count + 1);
    return wire_of_call(store, 3, out_len);
}

const char *lua_store_eval(lua_store *store, const ilk__reply *text,
                           ilk__reply *const *keys, size_t key_count,
                           ilk__reply *const *args, size_t arg_count,
                           size_t *out_len)
{
    lua_settop(store->lua, 0);
    must_have_room(store, key_count + arg_count);
    lua_getglobal(store->lua, "run_script");
    if (failed(store,
               luaL_loadbuffer(store->lua, text->str, text->len, "eval")))
        abort();
    push_items(store, keys, key_count);
    make_list(store, key_count);
    push_items(store, args, arg_count);
    make_list(store, arg_count);
    return wire_of_call(store, 3, out_len);
}

const char *lua_store_command(lua_store *store, ilk__reply *const *words,
                              size_t count, size_t *out_len)
{
    lua_settop(store->lua, 0);
    must_have_room(store, count);
    lua_getglobal(store->lua, "run_command");
    push_items(store, words, count);
    return wire_of_call(store, (int)count, out_len);
}
