/* SPDX-License-Identifier: MIT */
/*
 * signal_pattern.c -- listening to the broadcasts of all names of a pattern.
 *
 * Each wait subscribes, and unsubscribes when it ends, so that only those who
 * wait are counted; one that a signal of the system has interrupted goes on.
 */
#include "signal_wait.h"

#include "clock.h"
#include "run.h"

static ilk_status begin(ilk_signal *signal, int64_t deadline, ilk_error *err)
{
    const ilk__channel_of to = {.name = signal->channel.data,
                                .len = signal->channel.len,
                                .is_pattern = 1,
                                .letters = 1};

    return ilk__listen_begin(signal->client, &signal->listener, &to, deadline,
                             err);
}

ilk_status ilk__signal_listen_begin(ilk_signal *signal, ilk_error *err)
{
    int64_t limit = signal->client->opts.reply_timeout_ms;

    return begin(signal, ilk__deadline(limit), err);
}

ilk_status ilk__signal_listen(ilk_signal *signal, int64_t timeout_ms,
                              ilk_arrival *arrival, ilk_error *err)
{
    ilk__listener *listener = &signal->listener;
    int64_t deadline = ilk__deadline(timeout_ms);
    ilk_status st;

    if (timeout_ms == 0 && !listener->channel)
        return ilk__fail(err, ILK_ETIMEOUT, "%s", ilk_strerror(ILK_ETIMEOUT));
    st = begin(signal, deadline, err);
    if (st)
        return st;
    st = ilk__listen_next(signal->client, listener, &arrival->heard, deadline,
                          err);
    if (st != ILK_EINTR)
        ilk__listen_end(listener);
    return st;
}
