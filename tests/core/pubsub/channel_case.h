/* SPDX-License-Identifier: MIT */
/*
 * channel_case.h -- two who listen, at shared client state without a server.
 * The test is driver and server in one.
 */
#ifndef ILK__CHANNEL_CASE_H
#define ILK__CHANNEL_CASE_H

#include "pubsub/channel_internal.h"
#include "shared_case.h"

extern ilk__listener listener_one, listener_two;
extern ilk__op listening; /* the first one's wait */
extern ilk_error listen_err;

int channel_setup(void);
int channel_teardown(void);

void listener_join(ilk__listener *listener, const char *name, int is_pattern,
                   int own_format);
/* Begin to wait: for a message, or to be confirmed. */
ilk__act listener_wait(int message, int64_t timeout_ms);

/* Let the inbox see what is wanted: all that a subscriber sends, in one
 * line. */
const char *subscriber_sends(ilk__subscriber *subscriber);
void subscriber_confirms(ilk__subscriber *subscriber, const char *word,
                         const char *name);
void subscriber_receives(ilk__subscriber *subscriber, const char *pattern,
                         const char *channel, const char *data);
/* All that a listener has received: "<channel>=<data>;" for each. */
const char *listener_received(ilk__listener *listener);

#endif
