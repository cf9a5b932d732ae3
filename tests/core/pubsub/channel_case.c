/* SPDX-License-Identifier: MIT */
/* channel_case.c -- two who listen, at shared client state without a server. */
#include "channel_case.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

ilk__listener listener_one, listener_two;
ilk__op listening;
ilk_error listen_err;

int channel_setup(void)
{
    int failed = shared_case_setup();

    inbox_subscriber.connection.up = replica_subscriber.connection.up = 1;
    (void)ilk__listener_init(&listener_one, &shared, NULL);
    (void)ilk__listener_init(&listener_two, &shared, NULL);
    ilk__op_init(&listening, &ilk__listen_op, &listener_one, 0, &listen_err);
    return failed;
}

int channel_teardown(void)
{
    ilk__listener_destroy(&listener_one);
    ilk__listener_destroy(&listener_two);
    ilk__op_free(&listening);
    return shared_case_teardown();
}

void listener_join(ilk__listener *listener, const char *name, int is_pattern,
                   int own_format)
{
    const ilk__channel_of to = {.name = name,
                                .len = strlen(name),
                                .is_pattern = is_pattern,
                                .own_format = own_format};

    ilk__shared_lock(&shared);
    assert_int_equal(ilk__listener_join(listener, &to), ILK_OK);
    ilk__shared_unlock(&shared);
}

const char *subscriber_sends(ilk__subscriber *subscriber)
{
    static char text[1024];
    size_t len;

    ilk__shared_lock(&shared);
    if (subscriber->connection.up)
        ilk__inbox_channels(&shared, subscriber);
    ilk__channels_sweep(&shared);
    ilk__shared_unlock(&shared);
    len = ilk__buf_len(&subscriber->connection.out);
    assert_true(len < sizeof text);
    if (len)
        memcpy(text, ilk__buf_data(&subscriber->connection.out), len);
    text[len] = '\0';
    ilk__buf_drop(&subscriber->connection.out, len);
    return text;
}

void subscriber_confirms(ilk__subscriber *subscriber, const char *word,
                         const char *name)
{
    char text[256];

    snprintf(text, sizeof text, ">3\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n:1\r\n",
             strlen(word), word, strlen(name), name);
    inbox_receiver = subscriber;
    inbox_receives_raw(text);
}

void subscriber_receives(ilk__subscriber *subscriber, const char *pattern,
                         const char *channel, const char *data)
{
    char text[512];
    int used = 0;

    if (pattern)
        used = snprintf(text, sizeof text, ">4\r\n$8\r\npmessage\r\n$%zu\r\n%s",
                        strlen(pattern), pattern);
    else
        used = snprintf(text, sizeof text, ">3\r\n$7\r\nmessage");
    snprintf(text + used, sizeof text - (size_t)used,
             "\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(channel), channel,
             strlen(data), data);
    inbox_receiver = subscriber;
    inbox_receives_raw(text);
}

const char *listener_received(ilk__listener *listener)
{
    static char text[1024];
    ilk__channel_message *h;
    size_t used = 0;

    text[0] = '\0';
    while ((h = ilk__listener_pop(listener))) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s=%.*s;",
                                 (int)h->channel_len, h->channel,
                                 (int)h->data_len, h->data);
        ilk__channel_message_free(h);
    }
    return text;
}

ilk__act listener_wait(int message, int64_t timeout_ms)
{
    listener_one.awaits_message = message;
    ilk__op_free(&listening);
    ilk__error_clear(&listen_err);
    ilk__op_init(&listening, &ilk__listen_op, &listener_one,
                 __wrap_ilk__deadline(timeout_ms), &listen_err);
    return op_start(&listening);
}
