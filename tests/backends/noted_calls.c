/* SPDX-License-Identifier: MIT */
/* noted_calls.c -- see noted_calls.h. */
#include "noted_calls.h"

#include "redis/expected_reply.h"
#include "test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char message[512];
int message_count;

void ilk__gateway_reply(ilk__gateway_request *request, int code,
                        const char *types, ...)
{
    call *c = (call *)request;
    va_list args;

    va_start(args, types);
    c->replies++;
    c->code = code;
    for (size_t i = 0; types[i]; i++)
        c->numbers[i] = va_arg(args, int64_t);
    va_end(args);
}

void ilk__gateway_reply_text(ilk__gateway_request *request, const void *text,
                             size_t len)
{
    call *c = (call *)request;

    c->replies++;
    assert_true(len < sizeof c->text);
    memcpy(c->text, text, len);
    c->text[len] = '\0';
    c->code = (int)(strtoll(strchr(c->text, ':') + 1, NULL, 10)
                    - ilk__reply_head(NUMBER, 0));
}

void ilk__gateway_reply_error(ilk__gateway_request *request, const char *text)
{
    call *c = (call *)request;

    c->replies++;
    c->code = ERROR;
    snprintf(c->text, sizeof c->text, "%s", text);
}

void ilk__gateway_break(ilk__gateway_request *request)
{
    call *c = (call *)request;

    c->replies++;
    c->code = BROKEN;
}

size_t ilk__gateway_publish(ilk__gateway *gateway, ilk__span pattern,
                            ilk__span channel, ilk__span data)
{
    (void)gateway;
    assert_null(pattern.at);
    snprintf(message, sizeof message, "%.*s %.*s", (int)channel.len, channel.at,
             (int)data.len, data.at);
    message_count++;
    return 1;
}

void ilk__gateway_wake(ilk__gateway *gateway)
{
    (void)gateway;
}

static void add_word(call *c, size_t at, const char *word)
{
    assert_true(at < WORDS);
    snprintf(c->texts[at], WORD, "%s", word);
    c->words[at] = (ilk__reply){.type = ILK__REPLY_STR,
                                .str = c->texts[at],
                                .len = strlen(c->texts[at])};
    c->pointers[at] = &c->words[at];
}

void make_call(call *c, int script, const char *const *keys, ...)
{
    size_t key_count = 0, arg_count = 0;
    const char *word;
    va_list args;

    memset(c, 0, sizeof *c);
    for (; keys[key_count]; key_count++)
        add_word(c, key_count, keys[key_count]);
    va_start(args, keys);
    while ((word = va_arg(args, const char *)) != NULL)
        add_word(c, key_count + arg_count++, word);
    va_end(args);
    c->request = (ilk__gateway_request){.script = script,
                                        .keys = c->pointers,
                                        .key_count = key_count,
                                        .args = c->pointers + key_count,
                                        .arg_count = arg_count,
                                        .number = NUMBER};
}
