/* SPDX-License-Identifier: MIT */
/* resp.c -- writes replies and messages as RESP. */
#include "resp.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

ilk_status ilk__resp_add_args(ilk__buf *out, const char *format, va_list args)
{
    char text[256];
    int len = vsnprintf(text, sizeof text, format, args);

    assert(len >= 0 && (size_t)len < sizeof text);
    if (len < 0)
        return ILK_ENOMEM;
    return ilk__buf_add(out, text, strlen(text));
}

ilk_status ilk__resp_add(ilk__buf *out, const char *format, ...)
{
    va_list args;
    ilk_status st;

    va_start(args, format);
    st = ilk__resp_add_args(out, format, args);
    va_end(args);
    return st;
}

ilk_status ilk__resp_add_bytes(ilk__buf *out, ilk__span bytes)
{
    ilk_status st = ilk__resp_add(out, "$%zu\r\n", bytes.len);

    if (st == ILK_OK)
        st = ilk__buf_add(out, bytes.at, bytes.len);
    return st == ILK_OK ? ilk__buf_add(out, "\r\n", 2) : st;
}

static ilk_status add_line(ilk__buf *out, const ilk__reply *reply)
{
    size_t len = strcspn(reply->str, "\r\n");
    ilk_status st = ilk__buf_add(out, "-", 1);

    if (st == ILK_OK)
        st = ilk__buf_add(out, reply->str, len);
    return st == ILK_OK ? ilk__buf_add(out, "\r\n", 2) : st;
}

static ilk_status add_array(ilk__buf *out, const ilk__reply *reply)
{
    ilk_status st = ilk__resp_add(out, "*%zu\r\n", reply->count);

    for (size_t i = 0; i < reply->count && st == ILK_OK; i++)
        st = ilk__resp_add_reply(out, reply->items[i]);
    return st;
}

/* Replies are nested ILK__REPLY_DEPTH deep at most. */
ilk_status ilk__resp_add_reply(ilk__buf *out, const ilk__reply *reply)
{
    switch (reply->type) {
    case ILK__REPLY_INT:
        return ilk__resp_add(out, ":%" PRId64 "\r\n", reply->num);
    case ILK__REPLY_STR:
        return ilk__resp_add_bytes(out, (ilk__span){reply->str, reply->len});
    case ILK__REPLY_ERROR: return add_line(out, reply);
    case ILK__REPLY_ARRAY:
    case ILK__REPLY_PUSH: return add_array(out, reply);
    case ILK__REPLY_NIL: break;
    }
    return ilk__resp_add(out, "$-1\r\n");
}
