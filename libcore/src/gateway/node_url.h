/* SPDX-License-Identifier: MIT */
/* node_url.h -- what the URL of a store with several nodes says about each of them. */
#ifndef ILK__NODE_URL_H
#define ILK__NODE_URL_H

#include "net/url.h"

/* Fill in the login, the database and the options that a single server has as well.
 * `path` and `options` are the URL's, without what belongs to the store itself; each
 * may be NULL. Free it with ilk__url_free(), also after an error. ILK_EINVAL,
 * ILK_ENOMEM. */
ilk_status ilk__node_url_read(ilk__url *out, const ilk__url *url,
                              const char *path, const char *options,
                              ilk_error *err);

/* An option of the query. *out_is_own is 1 when it is the store's own; else it is an
 * option of each of its servers. */
typedef ilk_status ilk__own_option(void *store, ilk__span key, ilk__span value,
                                   int *out_is_own, ilk_error *err);
/* Take what is the store's own; the rest goes to `out`. */
ilk_status ilk__node_url_split(char *out, size_t room, const char *options,
                               ilk__own_option *take, void *store,
                               ilk_error *err);
/* How long connecting to a node may take, how long the core waits for a reply, and how
 * long the backend waits for the nodes' replies, which is less. */
void ilk__node_url_timeouts(const ilk__url *url, int64_t *out_connect_ms,
                            int64_t *out_reply_ms, int64_t *out_patience_ms);

#endif
