/* SPDX-License-Identifier: MIT */
/* shards_case.c -- a ring without servers. */
#include "shards_case.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

enum { CALLS = 64, WORDS = 16, TEXT = 1024 };

typedef struct sent_call {
    ilk__node_call call; /* its script and owner */
    ilk__shards_server *server;
    int is_open;
    char word[64];
} sent_call;

ilk__shards shards;
struct shards_result shards_result;

static sent_call calls[CALLS];
static size_t call_count;

/* ---- what the ring calls ------------------------------------------------- */

ilk__node_call *__wrap_ilk__node_calls_send(ilk__node_calls *to,
                                            ilk__command *command, int script,
                                            ilk__node_call_ended *ended,
                                            void *owner);
void __wrap_ilk__gateway_reply(ilk__gateway_request *request, int code,
                               const char *types, ...);
void __wrap_ilk__gateway_reply_error(ilk__gateway_request *request,
                                     const char *text);
void __wrap_ilk__gateway_break(ilk__gateway_request *request);

ilk__node_call *__wrap_ilk__node_calls_send(ilk__node_calls *to,
                                            ilk__command *command, int script,
                                            ilk__node_call_ended *ended,
                                            void *owner)
{
    sent_call *one = &calls[call_count];
    const size_t last = command->argc - 1;

    assert_true(call_count < CALLS);
    assert_false(command->failed);
    if (to->connection.up) {
        *one = (sent_call){.server = to->node, .is_open = 1};
        one->call.script = script;
        one->call.ended = ended;
        one->call.owner = owner;
        snprintf(one->word, sizeof one->word, "%.*s", (int)command->lens[last],
                 command->argv[last]);
        call_count++;
    }
    ilk__command_free(command);
    return to->connection.up ? &one->call : NULL;
}

static void count_reply(int code)
{
    const int count = shards_result.count;

    shards_result = (struct shards_result){.count = count + 1, .code = code};
}

void __wrap_ilk__gateway_reply(ilk__gateway_request *request, int code,
                               const char *types, ...)
{
    va_list args;

    (void)request;
    count_reply(code);
    va_start(args, types);
    for (size_t i = 0; types[i]; i++) {
        assert_true(types[i] == 'i' && i < 2);
        shards_result.numbers[i] = va_arg(args, int64_t);
    }
    va_end(args);
}

void __wrap_ilk__gateway_reply_error(ilk__gateway_request *request,
                                     const char *text)
{
    (void)request;
    count_reply(-1);
    snprintf(shards_result.error, sizeof shards_result.error, "%s", text);
}

void __wrap_ilk__gateway_break(ilk__gateway_request *request)
{
    (void)request;
    count_reply(-1);
    shards_result.is_broken = 1;
}

/* ---- the servers --------------------------------------------------------- */

int shards_case_open(void)
{
    static const char *const hosts[SHARDS_SERVERS] = {"10.0.0.1", "10.0.0.2",
                                                      "10.0.0.3"};

    memset(&shards, 0, sizeof shards);
    shards_result = (struct shards_result){0};
    call_count = 0;
    for (size_t i = 0; i < SHARDS_SERVERS; i++)
        if (ilk__shards_add_server(
                &shards, (ilk__span){hosts[i], strlen(hosts[i])}, 0, NULL))
            return -1;
    shards.ring_count = shards.count;
    shards.copies = 3;
    shards.read = shards.write = 2;
    shards.patience_ms = 3000;
    shards.coming_ms = 1000;
    /* No look at the marks is due. */
    shards.used_at = shards.looked_at = ilk__now_ms();
    if (ilk__shards_place(&shards, NULL))
        return -1;
    for (size_t i = 0; i < SHARDS_SERVERS; i++) {
        shards.servers[i].calls.connection.up = 1;
        shards.servers[i].is_known = 1;
        shards.servers[i].mark = 1;
    }
    return 0;
}

int shards_case_close(void)
{
    for (size_t i = 0; i < SHARDS_SERVERS; i++)
        shards_case_lose(&shards.servers[i]);
    ilk__shards_free_values(&shards);
    ilk__shards_free_store(&shards);
    ilk__shards_close_servers(&shards);
    ilk__ring_free(&shards.ring);
    return 0;
}

/* The first one that is open; NULL: none is. A server or a script of any. */
static sent_call *find(const ilk__shards_server *server, int script)
{
    for (size_t i = 0; i < call_count; i++)
        if (calls[i].is_open && (!server || calls[i].server == server)
            && (script == ILK__SCRIPT_NONE || calls[i].call.script == script))
            return &calls[i];
    return NULL;
}

static void finish(sent_call *one, ilk__reply *reply)
{
    one->is_open = 0;
    if (!one->call.ended(one->server, one->call.owner, &one->call, reply))
        ilk__reply_free(reply);
}

void shards_case_lose(ilk__shards_server *server)
{
    sent_call *one;

    server->calls.connection.up = 0;
    server->is_known = 0;
    server->has_failed = 1;
    while ((one = find(server, ILK__SCRIPT_NONE)))
        finish(one, NULL);
}

size_t shards_case_calls_to(const ilk__shards_server *server, int script)
{
    size_t number = 0;

    for (size_t i = 0; i < call_count; i++)
        number += calls[i].is_open && calls[i].call.script == script
                  && (!server || calls[i].server == server);
    return number;
}

size_t shards_case_calls(int script)
{
    return shards_case_calls_to(NULL, script);
}

const char *shards_case_word(int script)
{
    const sent_call *one = find(NULL, script);

    assert_non_null(one);
    return one->word;
}

/* ---- replies ------------------------------------------------------------- */

/* As a server sends it. */
static ilk__reply *read_reply(const char *text)
{
    struct redisReader *reader = ilk__reader_new();
    ilk__reply *reply = NULL;

    assert_non_null(reader);
    assert_int_equal(ilk__reader_feed(reader, text, strlen(text), NULL),
                     ILK_OK);
    assert_int_equal(ilk__reader_next(reader, &reply, NULL), ILK_OK);
    ilk__reader_free(reader);
    return reply;
}

void shards_case_answer(ilk__shards_server *server, int script, int code,
                        const char *types, ...)
{
    sent_call *one = find(server, script);
    char text[TEXT];
    va_list args;
    int len =
        snprintf(text, sizeof text, "*%zu\r\n:%d\r\n", 1 + strlen(types), code);

    assert_non_null(one);
    va_start(args, types);
    for (; *types; types++)
        if (*types == 'i') {
            len += snprintf(text + len, sizeof text - (size_t)len,
                            ":%" PRId64 "\r\n", va_arg(args, int64_t));
        } else {
            const char *word = va_arg(args, char *);

            len += snprintf(text + len, sizeof text - (size_t)len,
                            "$%zu\r\n%s\r\n", strlen(word), word);
        }
    va_end(args);
    finish(one, read_reply(text));
}

void shards_case_answer_error(ilk__shards_server *server, int script,
                              const char *text)
{
    sent_call *one = find(server, script);
    char line[TEXT];

    assert_non_null(one);
    snprintf(line, sizeof line, "-%s\r\n", text);
    finish(one, read_reply(line));
}

void shards_case_miss(ilk__shards_server *server, int script)
{
    sent_call *one = find(server, script);

    assert_non_null(one);
    finish(one, NULL);
}

/* ---- requests ------------------------------------------------------------ */

static size_t copy_words(ilk__reply words[WORDS], ilk__reply *list[WORDS],
                         const char *const *from)
{
    size_t count = 0;

    for (; from[count]; count++) {
        words[count] = (ilk__reply){.type = ILK__REPLY_STR,
                                    .str = (char *)from[count],
                                    .len = strlen(from[count])};
        list[count] = &words[count];
    }
    return count;
}

ilk__gateway_request *shards_case_request(int script, const char *const *keys,
                                          const char *const *args)
{
    static ilk__reply key_words[WORDS], arg_words[WORDS];
    static ilk__reply *key_list[WORDS], *arg_list[WORDS];
    static ilk__gateway_request request;

    request = (ilk__gateway_request){
        .script = script, .keys = key_list, .args = arg_list};
    request.key_count = copy_words(key_words, key_list, keys);
    request.arg_count = copy_words(arg_words, arg_list, args);
    return &request;
}
