/* SPDX-License-Identifier: MIT */
/* server.c -- the library's own scripts, run by Lua over store.lua. */
#include "sim.h"

#include "base/buf.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The server's clock at the world's beginning: some day of 2026. */
#define EPOCH_MS INT64_C(1780000000000)

control control_on;
static lua_State *lua;
static int scripts[ILK__SCRIPT_COUNT]; /* compiled, in Lua's registry */
static int known[ILK__SCRIPT_COUNT];   /* what EVALSHA finds */
static ilk__buf out;

static int give_clock(lua_State *l)
{
    lua_pushnumber(l, (lua_Number)((EPOCH_MS + world_now) * 1000));
    return 1;
}

static int give_publish(lua_State *l)
{
    size_t len;
    const char *message = lua_tolstring(l, 2, &len);

    lua_pushinteger(l, publish(lua_tostring(l, 1), message, len));
    return 1;
}

static int give_subscribers(lua_State *l)
{
    lua_pushinteger(l, subscribers(lua_tostring(l, 1)));
    return 1;
}

/* An error of the store or of a script is the end of the simulation. */
static void need(int failed)
{
    if (!failed)
        return;
    if (lua_istable(lua, -1))
        lua_getfield(lua, -1, "err");
    fprintf(stderr, "simulation: %s\n", lua_tostring(lua, -1));
    abort();
}

/* The cancelling script; by a control without what passes a grant on. */
static void compile(int i)
{
    static const char pass_on[] = "redis.call(\"DEL\", lock)";
    static const char keep[] = "return {REQUEST+GONE}  ";
    const ilk__script *script = &ilk__scripts[i];
    char *text = malloc(script->text_len + 1);
    char *here;

    memcpy(text, script->text, script->text_len + 1);
    if (control_on == CONTROL_NO_PASS_ON && i == ILK__SCRIPT_LOCK_CANCEL) {
        here = strstr(text, pass_on);
        need(here == NULL);
        memcpy(here, keep, sizeof pass_on - 1);
    }
    need(luaL_loadbuffer(lua, text, script->text_len, script->name));
    scripts[i] = luaL_ref(lua, LUA_REGISTRYINDEX);
    free(text);
}

void server_open(void)
{
    lua = luaL_newstate();
    luaL_openlibs(lua);
    lua_register(lua, "clock_us", give_clock);
    lua_register(lua, "publish", give_publish);
    lua_register(lua, "subscribers", give_subscribers);
    need(luaL_dofile(lua, ILK_SIM_STORE));
    for (int i = 0; i < ILK__SCRIPT_COUNT; i++)
        compile(i);
    memset(known, 0, sizeof known);
}

void server_close(void)
{
    lua_close(lua);
    ilk__buf_free(&out);
}

void server_forget(void)
{
    memset(known, 0, sizeof known);
    lua_getglobal(lua, "forget_all");
    need(lua_pcall(lua, 0, 0, 0));
}

static void say(const char *text, size_t len)
{
    if (ilk__buf_add(&out, text, len))
        abort();
}

/* The reply on the top of Lua's stack, which it removes, as the server sends it. */
static void say_reply(void)
{
    size_t len;
    const char *text;

    lua_getglobal(lua, "wire_of");
    lua_insert(lua, -2);
    need(lua_pcall(lua, 1, 1, 0));
    text = lua_tolstring(lua, -1, &len);
    say(text, len);
    lua_pop(lua, 1);
}

/* ---- running ------------------------------------------------------------ */

static int find_script(const ilk__reply *command)
{
    int in_full = strcmp(command->items[0]->str, "EVAL") == 0;
    const char *asked = command->items[1]->str;

    for (int i = 0; i < ILK__SCRIPT_COUNT; i++) {
        const ilk__script *script = &ilk__scripts[i];

        if (strcmp(asked, in_full ? script->text : script->sha1) != 0)
            continue;
        if (in_full)
            known[i] = 1;
        return known[i] ? i : -1;
    }
    return -1;
}

static void set_list(const char *name, const ilk__reply *command, size_t from,
                     size_t count)
{
    lua_createtable(lua, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        const ilk__reply *item = command->items[from + i];

        lua_pushlstring(lua, item->str, item->len);
        lua_rawseti(lua, -2, (int)i + 1);
    }
    lua_setglobal(lua, name);
}

/* The question without what all of them have, and its answer. */
static void tell(const ilk__reply *command, int script)
{
    char line[160], answer[80];
    size_t used = 0;

    for (size_t i = 8; i < command->count && used < sizeof line; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, " %s",
                                 command->items[i]->str);
    snprintf(answer, sizeof answer, "%s", ilk__buf_data(&out));
    for (char *c = answer; *c; c++)
        if (*c == '\r' || *c == '\n')
            *c = ' ';
    trace("    %s %s%s -> %s",
          script < 0 ? "unknown script" : ilk__scripts[script].name,
          command->items[3]->str, line, answer);
}

const char *server_run(const ilk__reply *command)
{
    static const char no_script[] = "-NOSCRIPT No matching script.\r\n";
    size_t keys = strtoul(command->items[2]->str, NULL, 10);
    int script = find_script(command);

    ilk__buf_drop(&out, ilk__buf_len(&out));
    if (script < 0) {
        say(no_script, sizeof no_script - 1);
    } else {
        set_list("KEYS", command, 3, keys);
        set_list("ARGV", command, 3 + keys, command->count - 3 - keys);
        lua_rawgeti(lua, LUA_REGISTRYINDEX, scripts[script]);
        need(lua_pcall(lua, 0, 1, 0));
        say_reply();
        if (script == ILK__SCRIPT_LOCK_CANCEL)
            check_cancelled(command->items[3]->str,
                            command->items[4 + keys]->str);
    }
    say("", 1);
    if (tracing)
        tell(command, script);
    return ilk__buf_data(&out);
}

const char *server_value(const char *key)
{
    static char value[128];

    lua_getglobal(lua, "value_of");
    lua_pushstring(lua, key);
    need(lua_pcall(lua, 1, 1, 0));
    snprintf(value, sizeof value, "%s",
             lua_isstring(lua, -1) ? lua_tostring(lua, -1) : "");
    lua_pop(lua, 1);
    return value;
}

int server_waits(const char *key, const char *client)
{
    int found = 0;

    lua_getglobal(lua, "members_of");
    lua_pushstring(lua, key);
    need(lua_pcall(lua, 1, 1, 0));
    for (int i = 1; i <= (int)lua_objlen(lua, -1); i++) {
        lua_rawgeti(lua, -1, i);
        found += strstr(lua_tostring(lua, -1), client) != NULL;
        lua_pop(lua, 1);
    }
    lua_pop(lua, 1);
    return found;
}
