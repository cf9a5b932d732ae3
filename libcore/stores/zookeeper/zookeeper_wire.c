/* SPDX-License-Identifier: MIT */
/* zookeeper_wire.c -- ZooKeeper's encoding: numbers, bytes, and the records of replies. */
#include "zookeeper_wire.h"

#include <stdio.h>
#include <string.h>

enum {
    INT = 4,
    LONG = 8,
    LEAST_NODE = INT + 1,
    LEAST_ACL = 3 * INT,
    OTHER_TIMES = 2 * LONG,
    OTHER_VERSIONS = 2 * INT,
    OTHER_COUNTS = 2 * INT + LONG
};

/* ---- reading ------------------------------------------------------------- */

static ilk__span take(ilk__zk_reader *from, size_t len)
{
    const ilk__span bytes = {from->at, len};

    if (from->is_bad || len > from->left) {
        from->is_bad = 1;
        return (ilk__span){"", 0};
    }
    from->at += len;
    from->left -= len;
    return bytes;
}

static uint64_t take_number(ilk__zk_reader *from, size_t len)
{
    const ilk__span bytes = take(from, len);
    uint64_t number = 0;

    for (size_t i = 0; i < bytes.len; i++)
        number = number << 8 | (unsigned char)bytes.at[i];
    return number;
}

/* Two's complement, without a conversion that depends on the compiler. */
static int64_t signed_of(uint64_t number, uint64_t most)
{
    return number <= most ? (int64_t)number
                          : -(int64_t)(2 * most + 1 - number) - 1;
}

int32_t ilk__zk_take_int(ilk__zk_reader *from)
{
    return (int32_t)signed_of(take_number(from, INT), INT32_MAX);
}

int64_t ilk__zk_take_long(ilk__zk_reader *from)
{
    return signed_of(take_number(from, LONG), INT64_MAX);
}

/* The count of a vector whose records have at least `least` bytes; -1 is 0. */
static int32_t take_count(ilk__zk_reader *from, size_t least, int32_t most)
{
    const int32_t count = ilk__zk_take_int(from);

    if (count < -1 || count > most
        || (count > 0 && (size_t)count > from->left / least))
        from->is_bad = 1;
    return from->is_bad || count < 0 ? 0 : count;
}

ilk__span ilk__zk_take_bytes(ilk__zk_reader *from)
{
    const int32_t len = ilk__zk_take_int(from);

    if (len < -1)
        from->is_bad = 1;
    return take(from, len > 0 ? (size_t)len : 0);
}

ilk__zk_stat ilk__zk_take_stat(ilk__zk_reader *from)
{
    ilk__zk_stat stat = {0};

    stat.czxid = ilk__zk_take_long(from);
    stat.mzxid = ilk__zk_take_long(from);
    (void)take(from, OTHER_TIMES); /* when it was created and changed */
    stat.version = ilk__zk_take_int(from);
    (void)take(from, OTHER_VERSIONS);
    stat.owner = ilk__zk_take_long(from);
    (void)take(from, OTHER_COUNTS); /* lengths, and the children's zxid */
    if (stat.czxid < 0 || stat.mzxid < 0)
        from->is_bad = 1;
    return stat;
}

ilk__span ilk__zk_take_path(ilk__zk_reader *from)
{
    const ilk__span path = ilk__zk_take_bytes(from);

    if (!path.len || path.at[0] != '/' || memchr(path.at, '\0', path.len))
        from->is_bad = 1;
    return from->is_bad ? (ilk__span){"", 0} : path;
}

ilk__span ilk__zk_take_node(ilk__zk_reader *from)
{
    const ilk__span node = ilk__zk_take_bytes(from);

    if (!node.len || memchr(node.at, '/', node.len)
        || memchr(node.at, '\0', node.len))
        from->is_bad = 1;
    return from->is_bad ? (ilk__span){"", 0} : node;
}

int32_t ilk__zk_take_node_count(ilk__zk_reader *from)
{
    return take_count(from, LEAST_NODE, ILK__ZK_CHILDREN_MOST);
}

ilk__span ilk__zk_take_acl(ilk__zk_reader *from)
{
    const char *begin = from->at;
    const int32_t count = take_count(from, LEAST_ACL, ILK__ZK_ACL_MOST);

    for (int32_t i = 0; i < count; i++) {
        (void)ilk__zk_take_int(from);   /* the rights */
        (void)ilk__zk_take_bytes(from); /* the scheme */
        (void)ilk__zk_take_bytes(from); /* the id */
    }
    if (!count)
        from->is_bad = 1;
    return from->is_bad ? (ilk__span){"", 0}
                        : (ilk__span){begin, (size_t)(from->at - begin)};
}

ilk_status ilk__zk_first_frame(const ilk__buf *in, ilk__span *out,
                               ilk_error *err)
{
    ilk__zk_reader from = {.at = ilk__buf_data(in), .left = ilk__buf_len(in)};
    int32_t len;

    *out = (ilk__span){"", 0};
    if (from.left < INT)
        return ILK_EAGAIN;
    len = ilk__zk_take_int(&from);
    if (len < ILK__ZK_HEAD || len > ILK__ZK_FRAME_MOST)
        return ilk__fail(err, ILK_EREPLY,
                         "a reply of %ld bytes; it must be %d to %d", (long)len,
                         ILK__ZK_HEAD, ILK__ZK_FRAME_MOST);
    if ((size_t)len > from.left)
        return ILK_EAGAIN;
    *out = (ilk__span){from.at, (size_t)len};
    return ILK_OK;
}

/* ---- writing ------------------------------------------------------------- */

static char *put_number(char *to, uint64_t number, int len)
{
    for (int i = len - 1; i >= 0; i--)
        *to++ = (char)(number >> (8 * i) & 0xff);
    return to;
}

char *ilk__zk_put_int(char *to, int32_t number)
{
    return put_number(to, (uint64_t)number, INT);
}

char *ilk__zk_put_long(char *to, int64_t number)
{
    return put_number(to, (uint64_t)number, LONG);
}

char *ilk__zk_put_bytes(char *to, ilk__span bytes)
{
    to = ilk__zk_put_int(to, (int32_t)bytes.len);
    if (bytes.len)
        memcpy(to, bytes.at, bytes.len);
    return to + bytes.len;
}

char *ilk__zk_put_text(char *to, const char *text)
{
    return ilk__zk_put_bytes(to, (ilk__span){text, strlen(text)});
}

char *ilk__zk_begin_frame(ilk__buf *out, size_t room)
{
    char *at = room < INT32_MAX ? ilk__buf_reserve(out, INT + room) : NULL;

    return at ? at + INT : NULL;
}

void ilk__zk_end_frame(ilk__buf *out, const char *end)
{
    char *begin = out->data + out->end;

    (void)ilk__zk_put_int(begin, (int32_t)(end - begin) - INT);
    ilk__buf_grew(out, (size_t)(end - begin));
}

/* ---- codes --------------------------------------------------------------- */

const char *ilk__zk_code_text(int code)
{
    static const struct {
        int code;
        const char *text;
    } known[] = {
        {ILK__ZK_OK, "done"},
        {-1, "the server has failed"},
        {-2, "the server finds itself inconsistent"},
        {-3, "the server's data are inconsistent"},
        {-5, "the server could not read the request"},
        {ILK__ZK_UNIMPLEMENTED, "the server does not know the request"},
        {-7, "the server's own time limit has passed"},
        {-8, "the server refuses the request's arguments"},
        {ILK__ZK_NO_NODE, "the node does not exist"},
        {ILK__ZK_NO_AUTH, "not permitted"},
        {ILK__ZK_BAD_VERSION, "the node has another version"},
        {-108, "an ephemeral node has no children"},
        {ILK__ZK_NODE_EXISTS, "the node exists"},
        {-111, "the node has children"},
        {ILK__ZK_SESSION_EXPIRED, "the session is over"},
        {-113, "the callback makes no sense"},
        {-114, "the access list makes no sense"},
        {ILK__ZK_AUTH_FAILED, "the login was refused"},
        {ILK__ZK_SESSION_MOVED, "the session is at another server"},
        {-119, "the server only reads"},
        {-120, "a local session has no ephemeral nodes"},
        {-125, "the quota is used up"},
        {ILK__ZK_THROTTLED, "the server has too many requests"},
        {ILK__ZK_NO_MEMORY, "out of memory"},
        {ILK__ZK_NOT_CONNECTED, "there is no connection"},
        {ILK__ZK_LOST, "it was lost before the answer"},
        {ILK__ZK_CLOSING, "the client is being closed"},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].code == code)
            return known[i].text;
    return "an unknown code";
}
