/* SPDX-License-Identifier: MIT */
/* listener_case.c -- listening as a thread does that has nothing else to do. */
#include "listener_case.h"

#include "client/run.h"

typedef struct listening {
    ilk__request request;
    ilk__listener *listener;
    const ilk__channel_of *to; /* NULL: the next message */
    int64_t deadline;
} listening;

static void begin(ilk__request *request)
{
    const listening *self = (listening *)request;

    if (self->to)
        ilk__listen_begin(request, self->listener, self->to, self->deadline,
                          ilk__request_end);
    else
        ilk__listen_next(request, self->listener, self->deadline,
                         ilk__request_end);
}

ilk_status listen_begin(ilk_client *client, ilk__listener *listener,
                        const ilk__channel_of *to, int64_t deadline,
                        ilk_error *err)
{
    listening self = {.listener = listener, .to = to, .deadline = deadline};

    return ilk__request_run(&self.request, client, begin, err);
}

ilk_status listen_next(ilk_client *client, ilk__listener *listener,
                       ilk__channel_message **out, int64_t deadline,
                       ilk_error *err)
{
    listening self = {.listener = listener, .deadline = deadline};
    ilk_status st = ilk__request_run(&self.request, client, begin, err);

    *out = st == ILK_OK ? ilk__listen_pop(listener) : NULL;
    return st;
}
