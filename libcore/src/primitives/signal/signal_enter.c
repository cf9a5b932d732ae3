/* SPDX-License-Identifier: MIT */
/* signal_enter.c -- how requests enter and leave the handle of a signal. */
#include "signal_wait.h"

#include "base/alloc.h"
#include "client/run.h"

/* ---- what belongs to the client's shared state -------------------------- */

void ilk__signal_wait_forget(ilk__signal_wait *wait)
{
    if (wait)
        ilk__delivered_signal_drop(&wait->waiter);
    ilk__free(wait);
}

/* In a forked child, the handle's wait is the parent's. */
ilk_status ilk__signal_bind(ilk__handle *handle, int *out_in_use,
                            ilk_error *err)
{
    ilk_signal *signal = (ilk_signal *)handle;
    ilk__shared *shared = handle->client->shared;
    ilk_status st;

    *out_in_use = signal->listener.channel
                  || (signal->wait && signal->wait->waiter.refresher);
    ilk__signal_wait_forget(signal->wait);
    signal->wait = NULL;
    st = ilk__listener_init(&signal->listener, shared, err);
    if (st)
        return st;
    pthread_mutex_init(&signal->gate, NULL);
    signal->id = ilk__shared_new_id(shared);
    return ILK_OK;
}

/* ---- begin and end of requests ------------------------------------------ */

ilk_status ilk__signal_enter(ilk_signal *signal, ilk_error *err)
{
    return ilk__handle_enter(&signal->handle, err);
}

void ilk__signal_end(ilk__request *request, ilk_signal *signal,
                     ilk_status status)
{
    ilk__handle_leave(&signal->handle);
    ilk__request_end(request, status);
}

void ilk__signal_finish(ilk__signal_request *self, ilk_status status)
{
    if (status)
        ilk_arrival_free(self->received);
    else
        ilk__request_answer(&self->request, self->received,
                            ilk__received_signal_dispose);
    ilk__signal_end(&self->request, self->own, status);
}

static ilk_status no_signal(ilk_error *err)
{
    return ilk__fail(err, ILK_EINVAL, "signal must not be NULL");
}

ilk_status ilk__signal_run(ilk__request *request, ilk_signal *signal,
                           ilk__request_begin *begin, ilk_error *err)
{
    return signal ? ilk__request_run(request, signal->handle.client, begin, err)
                  : no_signal(err);
}

ilk_status ilk__signal_start(ilk_op **out, ilk__request *request, size_t size,
                             ilk_signal *signal, ilk__request_begin *begin,
                             ilk_error *err)
{
    if (!signal)
        return ilk__started_none(out, no_signal(err));
    request->handle = signal;
    return ilk__request_start(out, request, size, signal->handle.client, begin,
                              err);
}
