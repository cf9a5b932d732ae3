/* SPDX-License-Identifier: MIT */
/* message.c -- parsing a message on a client's own channel. */
#include "message.h"

#include "base/hash.h"

#include <interlock/base.h>

#include <string.h>

/* The next space-separated word; NULL when none is left. */
static char *word(char **rest)
{
    char *begin = *rest;
    char *end = begin ? strchr(begin, ' ') : NULL;

    if (!begin)
        return NULL;
    if (end)
        *end++ = '\0';
    *rest = end;
    return begin;
}

/* Only digits, and less than 2^63. */
static int number_of(const char *text, int64_t *out)
{
    uint64_t value = 0;

    if (!text || !*text)
        return 0;
    for (; *text; text++) {
        uint64_t digit = (uint64_t)((unsigned char)*text - '0');

        if (digit > 9 || value > ((uint64_t)INT64_MAX - digit) / 10)
            return 0;
        value = value * 10 + digit;
    }
    *out = (int64_t)value;
    return 1;
}

static int read_number(char **rest, int64_t *out)
{
    return number_of(word(rest), out);
}

/* A number, a dot and a secret, in one word. */
static int read_proven(char *text, int64_t *out_number, const char **out_secret)
{
    char *dot = text ? strchr(text, '.') : NULL;

    if (!dot || !dot[1])
        return 0;
    *dot = '\0';
    *out_secret = dot + 1;
    return number_of(text, out_number);
}

static int read_waiter(char **rest, ilk__message *out)
{
    char *text = word(rest);

    if (!text || !text[0])
        return 0;
    out->kind = text[0];
    return read_proven(text + 1, &out->waiter, &out->secret);
}

static int read_grant(char **rest, ilk__message *out)
{
    return read_waiter(rest, out) && (out->token = word(rest)) != NULL
           && read_number(rest, &out->fence)
           && read_number(rest, &out->lease_ms)
           && read_number(rest, &out->server_us);
}

/* The name has the length that precedes it; the rest is data. */
static int read_payload(char *rest, const char *end, ilk__message *out)
{
    int64_t name_len;

    out->signal = word(&rest);
    if (!out->signal || !*out->signal || !read_number(&rest, &name_len) || !rest
        || name_len < 1 || name_len > ILK_NAME_MAX || name_len > end - rest
        || end - rest - name_len > (int64_t)ILK__DATA_MAX)
        return 0;
    out->name = rest;
    out->name_len = (size_t)name_len;
    out->data = rest + name_len;
    out->data_len = (size_t)(end - out->data);
    return 1;
}

/* The rest of the text is the name, which may be missing. */
static int read_name(char *rest, const char *end, ilk__message *out)
{
    out->name = rest ? rest : "";
    out->name_len = rest ? (size_t)(end - rest) : 0;
    return 1;
}

static int is(const char *word, const char *text)
{
    return word && strcmp(word, text) == 0;
}

int ilk__message_read(ilk__message *out, char *text, size_t len)
{
    const char *end = text + len;
    char *rest = text;
    const char *version = word(&rest);
    const char *type = word(&rest);

    memset(out, 0, sizeof *out);
    if (!is(version, "1"))
        return 0;
    if (is(type, "grant")) {
        out->type = ILK__MESSAGE_GRANT;
        return read_grant(&rest, out) && read_name(rest, end, out);
    }
    if (is(type, "wake")) {
        out->type = ILK__MESSAGE_WAKE;
        return read_waiter(&rest, out) && read_name(rest, end, out);
    }
    if (is(type, "signal")) {
        out->type = ILK__MESSAGE_SIGNAL;
        return read_waiter(&rest, out) && read_payload(rest, end, out);
    }
    if (is(type, "change")) {
        out->type = ILK__MESSAGE_CHANGE;
        out->secret = word(&rest);
        return rest && *out->secret && read_name(rest, end, out);
    }
    out->type = ILK__MESSAGE_NOTIFY;
    return is(type, "notify")
           && read_proven(word(&rest), &out->ticket, &out->secret)
           && read_payload(rest, end, out);
}

uint64_t ilk__message_mark(const ilk__message *message)
{
    const int64_t whom[] = {message->type, message->waiter, message->ticket,
                            message->fence};
    const char *id = message->signal ? message->signal : message->token;
    uint64_t hash = ilk__hash(ILK__HASH_START, whom, sizeof whom);

    hash = ilk__hash(hash, id, strlen(id));
    return ilk__hash(hash, message->name, message->name_len);
}
