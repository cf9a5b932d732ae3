/* SPDX-License-Identifier: MIT */
/* listener_case.h -- listening as a thread does that has nothing else to do. */
#ifndef ILK__LISTENER_CASE_H
#define ILK__LISTENER_CASE_H

#include "pubsub/channel.h"

/* Verbs that do nothing but ilk__listen_begin() and ilk__listen_next(). */
ilk_status listen_begin(ilk_client *client, ilk__listener *listener,
                        const ilk__channel_of *to, int64_t deadline,
                        ilk_error *err);
ilk_status listen_next(ilk_client *client, ilk__listener *listener,
                       ilk__channel_message **out, int64_t deadline,
                       ilk_error *err);

#endif
