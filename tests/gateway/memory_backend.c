/* SPDX-License-Identifier: MIT */
/* memory_backend.c -- a store in this process, behind each client's gateway. */
#include "memory_backend.h"

#include "lua_store.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "redis/script.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHANNELS = 16, CHANNEL = 128 };

/* A message on its way to a client's gateway. */
typedef struct message {
    struct message *next;
    size_t pattern_len, channel_len, len;
    int has_pattern;
    char bytes[]; /* pattern, channel, message */
} message;

typedef struct subscription {
    int is_pattern;
    size_t len;
    char name[CHANNEL];
} subscription;

/* A request that is executed, or gets its reply, later. */
typedef struct work {
    struct work *next;
    ilk__gateway_request *request;
    int64_t due;
    int executed, no_memory;
    ilk__buf reply;
} work;

typedef struct memory {
    struct memory *next;
    ilk__gateway *gateway;
    unsigned slow, late, lose, leave, repeat, seed;
    subscription channels[CHANNELS];
    size_t channel_count;
    message *messages, **last_message;
    work *works;
} memory;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static memory *memories;
static lua_store store;
static int is_open;
static long executed;
static int64_t spent_ns; /* on them */

static void must(int good)
{
    if (!good)
        abort();
}

/* ---- messages ----------------------------------------------------------- */

/* Patterns of the tests have no NUL and only '*', as fnmatch() knows it. */
static int matches(const subscription *one, ilk__span channel)
{
    if (one->is_pattern)
        return fnmatch(one->name, channel.at, 0) == 0;
    return one->len == channel.len
           && memcmp(one->name, channel.at, channel.len) == 0;
}

static char *append(char *to, ilk__span bytes)
{
    memcpy(to, bytes.at, bytes.len);
    return to + bytes.len;
}

static void post(memory *self, const subscription *to, ilk__span channel,
                 ilk__span data)
{
    const ilk__span pattern = {to->name, to->is_pattern ? to->len : 0};
    message *one = malloc(sizeof *one + pattern.len + channel.len + data.len);

    must(one != NULL);
    *one = (message){.has_pattern = to->is_pattern,
                     .pattern_len = pattern.len,
                     .channel_len = channel.len,
                     .len = data.len};
    append(append(append(one->bytes, pattern), channel), data);
    *self->last_message = one;
    self->last_message = &one->next;
    ilk__gateway_wake(self->gateway);
}

static int publish(lua_State *lua)
{
    ilk__span channel, data;
    int count = 0;

    channel.at = lua_tolstring(lua, 1, &channel.len);
    data.at = lua_tolstring(lua, 2, &data.len);
    for (memory *one = memories; one; one = one->next)
        for (size_t i = 0; i < one->channel_count; i++)
            if (matches(&one->channels[i], channel)) {
                post(one, &one->channels[i], channel, data);
                count++;
            }
    lua_pushinteger(lua, count);
    return 1;
}

static int subscribers(lua_State *lua)
{
    ilk__span channel;
    int count = 0;

    channel.at = lua_tolstring(lua, 1, &channel.len);
    for (const memory *one = memories; one; one = one->next)
        for (size_t i = 0; i < one->channel_count; i++)
            count += !one->channels[i].is_pattern
                     && matches(&one->channels[i], channel);
    lua_pushinteger(lua, count);
    return 1;
}

static int channels(lua_State *lua)
{
    int count = 0;

    lua_newtable(lua);
    for (const memory *one = memories; one; one = one->next)
        for (size_t i = 0; i < one->channel_count; i++) {
            lua_pushlstring(lua, one->channels[i].name, one->channels[i].len);
            lua_rawseti(lua, -2, ++count);
        }
    return 1;
}

static int clock_us(lua_State *lua)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    lua_pushnumber(lua, (lua_Number)now.tv_sec * 1e6
                            + (lua_Number)(now.tv_nsec / 1000));
    return 1;
}

static void subscribe(void *context, ilk__span channel, int is_pattern,
                      int begins)
{
    memory *self = context;
    subscription *one = self->channels;

    pthread_mutex_lock(&mutex);
    while (one < self->channels + self->channel_count
           && (one->is_pattern != is_pattern || one->len != channel.len
               || memcmp(one->name, channel.at, channel.len) != 0))
        one++;
    if (begins) {
        must(self->channel_count++ < CHANNELS && channel.len < CHANNEL);
        *one = (subscription){.is_pattern = is_pattern, .len = channel.len};
        memcpy(one->name, channel.at, channel.len);
    } else {
        *one = self->channels[--self->channel_count];
    }
    pthread_mutex_unlock(&mutex);
}

/* ---- faults ------------------------------------------------------------- */

enum { LIE_SHARE = 5 };

static struct {
    _Atomic int left;
    _Atomic long requests, slow, late, lost;
} lies;

void memory_backend_lie(int faults)
{
    lies.left = faults;
}

void memory_backend_lies(char *out, size_t room)
{
    int left = lies.left;

    snprintf(out, room, "%d %ld %ld %ld %ld", left > 0 ? left : 0,
             lies.requests, lies.slow, lies.late, lies.lost);
}

/* Whether this request has the fault, whose share its URL says. */
static int draw(memory *self, unsigned share_of_url, _Atomic long *lied)
{
    unsigned dice = (unsigned)rand_r(&self->seed) % 100;

    if (dice < share_of_url)
        return 1;
    if (lies.left <= 0 || dice >= LIE_SHARE)
        return 0;
    lies.left--;
    (*lied)++;
    return 1;
}

/* ---- requests ----------------------------------------------------------- */

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* With the mutex. */
static const char *run(const ilk__gateway_request *r, size_t *out_len)
{
    executed++;
    if (r->script < 0)
        return lua_store_command(&store, r->args, r->arg_count, out_len);
    return lua_store_run(&store, r->script, r->keys, r->key_count, r->args,
                         r->arg_count, r->number, out_len);
}

/* A pop delivers at most once: a lease of 0, the third argument. */
static int may_be_repeated(const ilk__gateway_request *r)
{
    return r->script >= 0
           && (r->script != ILK__SCRIPT_QUEUE_RESERVE
               || strcmp(r->args[2]->str, "0") != 0);
}

/* EVAL text <number of keys> key ... argument ..., of a script of the test. */
static const char *eval(ilk__reply *const *words, size_t count, size_t *out_len)
{
    size_t keys = strtoul(words[2]->str, NULL, 10);

    must(keys <= count - 3);
    return lua_store_eval(&store, words[1], words + 3, keys, words + 3 + keys,
                          count - 3 - keys, out_len);
}

void memory_backend_command(ilk__reply *const *words, size_t count,
                            ilk__buf *reply)
{
    size_t len;
    const char *text;

    pthread_mutex_lock(&mutex);
    if (count > 2 && ilk__reply_is_text(words[0], "EVAL"))
        text = eval(words, count, &len);
    else
        text = lua_store_command(&store, words, count, &len);
    must(ilk__buf_add(reply, text, len) == ILK_OK);
    pthread_mutex_unlock(&mutex);
}

static void execute(memory *self, const ilk__gateway_request *request,
                    ilk__buf *reply, int *no_memory)
{
    size_t len;
    const char *text;

    pthread_mutex_lock(&mutex);
    spent_ns -= now_ns();
    text = run(request, &len);
    spent_ns += now_ns();
    if (ilk__buf_add(reply, text, len) != ILK_OK)
        *no_memory = 1;
    if (may_be_repeated(request)
        && (unsigned)rand_r(&self->seed) % 100 < self->repeat)
        (void)run(request, &len);
    pthread_mutex_unlock(&mutex);
}

static void finish(memory *self, ilk__gateway_request *request,
                   const ilk__buf *reply, int no_memory)
{
    if (request->script >= 0 && self->leave)
        ilk__gateway_left_open(self->gateway);
    if (no_memory)
        ilk__gateway_reply_error(request, "OOM no memory for the reply");
    else if (request->script >= 0 && draw(self, self->lose, &lies.lost))
        ilk__gateway_break(request);
    else
        ilk__gateway_reply_text(request, ilk__buf_data(reply),
                                ilk__buf_len(reply));
}

static void do_later(memory *self, ilk__gateway_request *request, int at_once)
{
    work *one = calloc(1, sizeof *one);

    must(one != NULL);
    one->request = request;
    one->due = ilk__now_ms() + rand_r(&self->seed) % MEMORY_SLOW_MS;
    if (at_once)
        execute(self, request, &one->reply, &one->no_memory);
    one->executed = at_once;
    one->next = self->works;
    self->works = one;
}

static void call(void *context, ilk__gateway_request *request)
{
    memory *self = context;
    int is_script = request->script >= 0, no_memory = 0;
    int slow = is_script && draw(self, self->slow, &lies.slow);
    ilk__buf reply = {0};

    lies.requests++;
    if (slow || (is_script && draw(self, self->late, &lies.late))) {
        do_later(self, request, !slow);
        return;
    }
    execute(self, request, &reply, &no_memory);
    finish(self, request, &reply, no_memory);
    ilk__buf_free(&reply);
}

static void finish_work(memory *self, work *one)
{
    if (!one->executed)
        execute(self, one->request, &one->reply, &one->no_memory);
    finish(self, one->request, &one->reply, one->no_memory);
    ilk__buf_free(&one->reply);
    free(one);
}

/* ---- the poll loop ------------------------------------------------------ */

static size_t prepare(void *context, struct pollfd *fds, size_t room,
                      int64_t *until)
{
    memory *self = context;

    (void)fds;
    (void)room;
    for (const work *one = self->works; one; one = one->next)
        *until = ilk__sooner(*until, one->due);
    pthread_mutex_lock(&mutex);
    if (self->messages)
        *until = 0;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static message *take_messages(memory *self)
{
    message *first;

    pthread_mutex_lock(&mutex);
    first = self->messages;
    self->messages = NULL;
    self->last_message = &self->messages;
    pthread_mutex_unlock(&mutex);
    return first;
}

static void deliver_one(memory *self, const message *one)
{
    const ilk__span pattern = {one->has_pattern ? one->bytes : NULL,
                               one->pattern_len};
    const ilk__span channel = {one->bytes + one->pattern_len, one->channel_len};
    const ilk__span data = {channel.at + channel.len, one->len};

    (void)ilk__gateway_publish(self->gateway, pattern, channel, data);
}

static void deliver(memory *self)
{
    for (message *next, *one = take_messages(self); one; one = next) {
        next = one->next;
        deliver_one(self, one);
        free(one);
    }
}

static void polled(void *context, const struct pollfd *fds, size_t count)
{
    memory *self = context;
    int64_t now = ilk__now_ms();
    work **link = &self->works;

    (void)fds;
    (void)count;
    while (*link) {
        work *one = *link;

        if (one->due > now) {
            link = &one->next;
            continue;
        }
        *link = one->next;
        finish_work(self, one);
    }
    deliver(self);
}

/* ---- opening and closing ------------------------------------------------ */

static unsigned share(const ilk__url *url, const char *key)
{
    const char *at = url->options ? strstr(url->options, key) : NULL;

    return at ? (unsigned)strtoul(at + strlen(key), NULL, 10) : 0;
}

static ilk_status open_store(ilk_error *err)
{
    static const lua_store_world world = {.clock_us = clock_us,
                                          .publish = publish,
                                          .subscribers = subscribers,
                                          .channels = channels};

    if (!is_open && lua_store_open(&store, &world))
        return ilk__fail(err, ILK_ESYSTEM, "the store cannot be opened");
    is_open = 1;
    return ILK_OK;
}

static ilk_status open_memory(void **out, ilk__gateway *gateway,
                              const ilk__url *url, ilk_error *err)
{
    memory *self;
    ilk_status st = url->path ? memory_socket_serve(url->path, err) : ILK_OK;

    if (st)
        return st;
    self = calloc(1, sizeof *self);
    must(self != NULL);
    self->gateway = gateway;
    self->last_message = &self->messages;
    self->slow = share(url, "slow=");
    self->late = share(url, "late=");
    self->lose = share(url, "lose=");
    self->leave = share(url, "leave=");
    self->repeat = share(url, "repeat=");
    self->seed = share(url, "seed=");
    pthread_mutex_lock(&mutex);
    st = open_store(err);
    if (st == ILK_OK) {
        self->next = memories;
        memories = self;
    }
    pthread_mutex_unlock(&mutex);
    if (st)
        free(self);
    *out = self;
    return st;
}

static void close_memory(void *context)
{
    memory *self = context, **link = &memories;

    pthread_mutex_lock(&mutex);
    while (*link != self)
        link = &(*link)->next;
    *link = self->next;
    if (executed) /* bench/c/gateway.c reads it */
        ilk__log(ILK__LOG_INFO, "the memory store: %.0f ns for a request",
                 (double)spent_ns / (double)executed);
    pthread_mutex_unlock(&mutex);
    while (self->works) {
        work *one = self->works;

        self->works = one->next;
        finish_work(self, one);
    }
    for (message *next, *one = take_messages(self); one; one = next) {
        next = one->next;
        free(one);
    }
    free(self);
}

long memory_backend_executed(void)
{
    long count;

    pthread_mutex_lock(&mutex);
    count = executed;
    pthread_mutex_unlock(&mutex);
    return count;
}

void memory_backend_reset(void)
{
    must(memories == NULL);
    if (is_open)
        lua_store_close(&store);
    is_open = 0;
    executed = 0;
    spent_ns = 0;
}

/* The child's store is its copy of the parent's memory, and the parent's clients
 * are none of its own. Another thread of the parent may have locked the mutex. */
static void abandon(void *context)
{
    (void)context;
    pthread_mutex_init(&mutex, NULL);
    memories = NULL;
}

#define MEMORY(url_scheme, other)                                              \
    {                                                                          \
        .scheme = (url_scheme), .store = "the memory store", .also = (other),  \
        .offers = UINT32_MAX, .open = open_memory, .close = close_memory,      \
        .abandon = abandon, .call = call, .command = call,                     \
        .subscribe = subscribe, .prepare = prepare, .polled = polled           \
    }

static const ilk__backend second = MEMORY("memory+tls", NULL);

const ilk__backend memory_backend = MEMORY("memory", &second);
