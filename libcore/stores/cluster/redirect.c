/* SPDX-License-Identifier: MIT */
/* redirect.c -- reads a node's refusals. The text may be a faulty server's. */
#include "redirect.h"

#include "redis/slot.h"

#include <string.h>

enum { PORT_MAX = 65535 };

int ilk__redirect_is_host(const char *host, size_t len)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-._:%";

    if (len == 0 || len >= ILK__NODE_HOST)
        return 0;
    for (size_t i = 0; i < len; i++)
        if (!host[i] || !strchr(allowed, host[i]))
            return 0;
    return 1;
}

/* `host:port`; the last colon separates them, for an IPv6 address has others and
 * no brackets. */
static int read_address(ilk__redirect *out, ilk__span text)
{
    size_t len = text.len;
    ilk__span port;

    while (len > 0 && text.at[len - 1] != ':')
        len--;
    if (len == 0)
        return 0;
    port = (ilk__span){text.at + len, text.len - len};
    len--;
    if (len > 0 && !ilk__redirect_is_host(text.at, len))
        return 0;
    memcpy(out->host, text.at, len);
    out->host[len] = '\0';
    out->port = (int)ilk__text_number(port, PORT_MAX);
    return out->port > 0;
}

static int read_target(ilk__redirect *out, const ilk__reply *reply)
{
    ilk__span rest = {reply->str, reply->len}, slot;
    int has_slot, has_address;

    ilk__text_cut(&rest, ' ', &has_slot);
    slot = ilk__text_cut(&rest, ' ', &has_address);
    if (!has_slot || !has_address)
        return 0;
    out->slot = (int)ilk__text_number(slot, ILK__SLOTS - 1);
    return out->slot >= 0 && read_address(out, rest);
}

static int is_passing(const ilk__reply *reply)
{
    static const char *const words[] = {"TRYAGAIN", "CLUSTERDOWN", "LOADING",
                                        "MASTERDOWN", "READONLY"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (ilk__reply_is_error(reply, words[i]))
            return 1;
    return 0;
}

ilk__redirect ilk__redirect_read(const ilk__reply *reply)
{
    ilk__redirect out = {.kind = ILK__REDIRECT_NONE};

    if (reply->type != ILK__REPLY_ERROR)
        return out;
    if (is_passing(reply))
        out.kind = ILK__REDIRECT_LATER;
    else if (ilk__reply_is_error(reply, "MOVED") && read_target(&out, reply))
        out.kind = ILK__REDIRECT_MOVED;
    else if (ilk__reply_is_error(reply, "ASK") && read_target(&out, reply))
        out.kind = ILK__REDIRECT_ASK;
    return out;
}
