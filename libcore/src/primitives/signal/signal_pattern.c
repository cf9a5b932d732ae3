/* SPDX-License-Identifier: MIT */
/*
 * signal_pattern.c -- listening to the broadcasts of all names of a pattern.
 *
 * Each wait subscribes and unsubscribes when it ends, so that the sender's
 * count includes only listeners that wait. After ILK_EINTR the subscription
 * stays, for the next call.
 */
#include "signal_wait.h"

#include "base/clock.h"

static void begin(ilk__signal_request *self, ilk__request_then *then)
{
    ilk_signal *signal = self->own;
    const ilk__channel_of to = {.name = signal->channel.data,
                                .len = signal->channel.len,
                                .is_pattern = 1,
                                .own_format = 1};

    ilk__listen_begin(&self->request, &signal->listener, &to, self->deadline,
                      then);
}

static void begun(ilk__request *request, ilk_status status)
{
    ilk__signal_end(request, ((ilk__signal_request *)request)->own, status);
}

void ilk__signal_begin_receiving(ilk__signal_request *self)
{
    self->deadline = ilk__request_patience(&self->request);
    begin(self, begun);
}

static void received(ilk__request *request, ilk_status status)
{
    ilk__signal_request *self = (ilk__signal_request *)request;
    ilk__listener *listener = &self->own->listener;

    if (status == ILK_OK)
        self->received->message = ilk__listen_pop(listener);
    if (status != ILK_EINTR)
        ilk__listen_end(listener);
    ilk__signal_finish(self, status);
}

static void receive_next(ilk__request *request, ilk_status status)
{
    ilk__signal_request *self = (ilk__signal_request *)request;

    if (status)
        ilk__signal_finish(self, status);
    else
        ilk__listen_next(request, &self->own->listener, self->deadline,
                         received);
}

void ilk__signal_receive(ilk__signal_request *self)
{
    if (self->timeout_ms == 0 && !self->own->listener.channel) {
        ilk__signal_finish(self, ilk__fail(self->request.err, ILK_ETIMEOUT,
                                           "%s", ilk_strerror(ILK_ETIMEOUT)));
        return;
    }
    self->deadline = ilk__deadline(self->timeout_ms);
    begin(self, receive_next);
}
