/* SPDX-License-Identifier: MIT */
/* buf.c -- a byte buffer that grows at the end and is consumed at the front. */
#include "buf.h"

#include "alloc.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

enum { FIRST_ROOM = 512 };

static int grow(ilk__buf *buf, size_t need)
{
    size_t room = buf->room != 0 ? buf->room : FIRST_ROOM;
    char *data;

    while (room < need) {
        if (room > SIZE_MAX / 2)
            return -1;
        room *= 2;
    }
    if ((data = ilk__realloc(buf->data, room)) == NULL)
        return -1;
    buf->data = data;
    buf->room = room;
    return 0;
}

char *ilk__buf_reserve(ilk__buf *buf, size_t len)
{
    size_t content = buf->end - buf->start;

    if (len > SIZE_MAX - content)
        return NULL;
    if (buf->data != NULL && buf->room - buf->end >= len)
        return buf->data + buf->end;
    /* Reuse the room of the bytes dropped from the front. */
    if (buf->data != NULL && buf->start > 0) {
        memmove(buf->data, buf->data + buf->start, content);
        buf->start = 0;
        buf->end = content;
    }
    if ((buf->data == NULL || buf->room - content < len)
        && grow(buf, content + len) != 0)
        return NULL;
    return buf->data + buf->end;
}

void ilk__buf_grew(ilk__buf *buf, size_t len)
{
    assert(len <= buf->room - buf->end);
    buf->end += len;
}

ilk_status ilk__buf_add(ilk__buf *buf, const void *data, size_t len)
{
    char *at = ilk__buf_reserve(buf, len);

    if (at == NULL)
        return ILK_ENOMEM;
    if (len != 0)
        memcpy(at, data, len);
    ilk__buf_grew(buf, len);
    return ILK_OK;
}

void ilk__buf_drop(ilk__buf *buf, size_t len)
{
    assert(len <= buf->end - buf->start);
    buf->start += len;
    if (buf->start == buf->end)
        buf->start = buf->end = 0;
}

size_t ilk__buf_len(const ilk__buf *buf)
{
    return buf->end - buf->start;
}

const char *ilk__buf_data(const ilk__buf *buf)
{
    return buf->data != NULL ? buf->data + buf->start : "";
}

void ilk__buf_free(ilk__buf *buf)
{
    ilk__free(buf->data);
    *buf = (ilk__buf){0};
}
