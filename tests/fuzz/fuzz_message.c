/* SPDX-License-Identifier: MIT */
/*
 * fuzz_message.c -- any bytes at all as a message on a client's own channel.
 *
 * The promises of message.h are checked; the copy of a message is exactly as long
 * as the message, so that a sanitizer sees a read past its end. A message that
 * was accepted is written again from its parts and must be read the same.
 */
#include "fuzz.h"

#include "pubsub/message.h"

#include <interlock/base.h>

static int lies_in(const char *at, size_t len, const char *text, size_t size)
{
    return at >= text && len <= size && at + len <= text + size;
}

static void check_message(const ilk__message *message, const char *text,
                          size_t size)
{
    CHECK(message->waiter >= 0 && message->ticket >= 0 && message->fence >= 0);
    CHECK(message->lease_ms >= 0 && message->server_us >= 0);
    CHECK(message->secret[0] != '\0' && message->name != NULL);
    CHECK(message->name_len == 0
          || lies_in(message->name, message->name_len, text, size));
    CHECK((message->token != NULL) == (message->type == ILK__MESSAGE_GRANT));
    CHECK((message->signal != NULL)
          == (message->type == ILK__MESSAGE_SIGNAL
              || message->type == ILK__MESSAGE_NOTIFY));
    if (!message->signal)
        return;
    CHECK(message->signal[0] != '\0');
    CHECK(message->name_len > 0 && message->name_len <= ILK_NAME_MAX);
    CHECK(message->data_len <= ILK__DATA_MAX);
    CHECK(lies_in(message->data, message->data_len, text, size));
    CHECK(message->data + message->data_len == text + size);
}

/* Everything before the name, as message.h describes it; returns its length. */
static size_t write_head(char *out, size_t room, const ilk__message *m)
{
    int len = 0;

    switch (m->type) {
    case ILK__MESSAGE_GRANT:
        len = snprintf(out, room, "1 grant %c%lld.%s %s %lld %lld %lld ",
                       m->kind, (long long)m->waiter, m->secret, m->token,
                       (long long)m->fence, (long long)m->lease_ms,
                       (long long)m->server_us);
        break;
    case ILK__MESSAGE_WAKE:
        len = snprintf(out, room, "1 wake %c%lld.%s ", m->kind,
                       (long long)m->waiter, m->secret);
        break;
    case ILK__MESSAGE_SIGNAL:
        len = snprintf(out, room, "1 signal %c%lld.%s %s %zu ", m->kind,
                       (long long)m->waiter, m->secret, m->signal, m->name_len);
        break;
    case ILK__MESSAGE_NOTIFY:
        len = snprintf(out, room, "1 notify %lld.%s %s %zu ",
                       (long long)m->ticket, m->secret, m->signal, m->name_len);
        break;
    case ILK__MESSAGE_CHANGE:
        len = snprintf(out, room, "1 change %s ", m->secret);
        break;
    }
    CHECK(len > 0 && (size_t)len < room);
    return (size_t)len;
}

static int same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void check_same(const ilk__message *a, const ilk__message *b)
{
    CHECK(a->type == b->type && a->kind == b->kind && a->waiter == b->waiter);
    CHECK(a->fence == b->fence && a->lease_ms == b->lease_ms);
    CHECK(a->server_us == b->server_us && a->ticket == b->ticket);
    CHECK(same_text(a->secret, b->secret) && same_text(a->token, b->token));
    CHECK(same_text(a->signal, b->signal));
    CHECK(a->name_len == b->name_len && a->data_len == b->data_len);
    CHECK(memcmp(a->name, b->name, a->name_len) == 0);
    CHECK(a->data_len == 0 || memcmp(a->data, b->data, a->data_len) == 0);
}

/* A head that was accepted can be a little longer when it is written again:
 * numbers lose zeros but not digits. */
static void check_written(const ilk__message *message, size_t size)
{
    size_t room = size + 256, len;
    char *text = malloc(room);
    ilk__message again;

    CHECK(text != NULL);
    len = write_head(text, room, message);
    CHECK(len + message->name_len + message->data_len < room);
    memcpy(text + len, message->name, message->name_len);
    len += message->name_len;
    if (message->data_len)
        memcpy(text + len, message->data, message->data_len);
    len += message->data_len;
    text[len] = '\0';
    CHECK(ilk__message_read(&again, text, len));
    check_same(message, &again);
    if (message->type != ILK__MESSAGE_WAKE
        && message->type != ILK__MESSAGE_CHANGE)
        CHECK(ilk__message_mark(message) == ilk__message_mark(&again));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size);
    ilk__message message;

    if (ilk__message_read(&message, text, size)) {
        check_message(&message, text, size);
        check_written(&message, size);
    }
    free(text);
    return 0;
}
