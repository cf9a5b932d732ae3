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

#endif
