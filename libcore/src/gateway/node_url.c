/* SPDX-License-Identifier: MIT */
/* node_url.c -- what the URL of a store with several nodes says about each of them. */
#include "node_url.h"

#include "backend.h"
#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { URL_TEXT = 4096 + 64, CONNECT_MS = 2000, REPLY_MS = 5000 };

static ilk_status copy_login(ilk__url *out, const ilk__url *url, ilk_error *err)
{
    out->user = ilk__strdup(url->user);
    out->password = ilk__strdup(url->password);
    out->protocol = url->protocol;
    if ((url->user && !out->user) || (url->password && !out->password))
        return ilk__fail(err, ILK_ENOMEM, "no memory for the URL");
    return ILK_OK;
}

/* The options mean what they mean for one server, so its URL is parsed. */
ilk_status ilk__node_url_read(ilk__url *out, const ilk__url *url,
                              const char *path, const char *options,
                              ilk_error *err)
{
    const char *scheme =
        strncmp(url->backend->scheme, "rediss", 6) == 0 ? "rediss" : "redis";
    int has_options = options && *options;
    char text[URL_TEXT];
    ilk_status st;

    snprintf(text, sizeof text, "%s://nobody%.32s%s%s", scheme,
             path ? path : "", has_options ? "?" : "",
             has_options ? options : "");
    st = ilk__url_parse(out, text, err);
    if (st == ILK_OK && (url->listen || out->listen))
        return ilk__fail(err, ILK_EINVAL,
                         "URL: listen is not for %s, which is listened to at "
                         "each of its nodes",
                         url->backend->store);
    return st ? st : copy_login(out, url, err);
}

ilk_status ilk__node_url_split(char *out, size_t room, const char *options,
                               ilk__own_option *take, void *store,
                               ilk_error *err)
{
    ilk__span rest = {options, strlen(options)};
    ilk_status st = ILK_OK;
    size_t len = 0;
    int more = 1;

    *out = '\0';
    while (more && st == ILK_OK) {
        const ilk__span item = ilk__text_cut(&rest, '&', &more);
        ilk__span value = item, key = ilk__text_cut(&value, '=', NULL);
        int is_own = 0;

        st = take(store, key, value, &is_own, err);
        if (st == ILK_OK && !is_own && len + item.len + 2 < room)
            len += (size_t)snprintf(out + len, room - len, "%s%.*s",
                                    len ? "&" : "", (int)item.len, item.at);
    }
    return st;
}

/* The first two are the client's: it has written those of its options into the URL. */
void ilk__node_url_timeouts(const ilk__url *url, int64_t *out_connect_ms,
                            int64_t *out_reply_ms, int64_t *out_patience_ms)
{
    *out_connect_ms =
        url->connect_timeout_ms ? url->connect_timeout_ms : CONNECT_MS;
    *out_reply_ms = url->reply_timeout_ms ? url->reply_timeout_ms : REPLY_MS;
    *out_patience_ms = *out_reply_ms * 3 / 4;
}
