/* SPDX-License-Identifier: MIT */
/* signal_inspect.c -- the number of waiters of a signal. */
#include "signal_wait.h"

#include "client/run.h"

typedef struct inspect_request {
    ilk__request request;
    const void *name; /* the caller's: valid until begin() returns */
    size_t name_len;
    ilk__bytes keys[ILK__SIGNAL_LISTS];
} inspect_request;

static void ask(ilk__op *op)
{
    const inspect_request *self = op->subject;

    op->command.replies = ILK__REPLIES_INT;
    ilk__command_add_str(&op->command, "ZCARD");
    ilk__command_add(&op->command, self->keys[0].data, self->keys[0].len);
}

static ilk__act counted(ilk__op *op, const ilk__reply *reply)
{
    inspect_request *self = op->subject;

    if (reply->type != ILK__REPLY_INT)
        return ilk__op_fail(op, ILK_EREPLY, "zcard: a reply of a wrong shape");
    self->request.result.number = reply->num;
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type inspect = {.name = "signal_inspect",
                                     .script = ILK__SCRIPT_NONE,
                                     .reply_is_optional = 1,
                                     .ask = ask,
                                     .reply = counted};

static void inspected(ilk__request *request, ilk_status status)
{
    ilk__signal_keys_free(((inspect_request *)request)->keys);
    ilk__request_end(request, status);
}

static void begin(ilk__request *request)
{
    inspect_request *self = (inspect_request *)request;
    ilk_status st = ilk__client_enter(request->client, request->err);

    if (st == ILK_OK)
        st = ilk__signal_keys(self->keys, self->name, self->name_len,
                              request->err);
    if (st)
        ilk__request_end(request, st);
    else
        ilk__request_ask(request, &inspect, self,
                         ilk__request_patience(request), inspected);
}

ilk_status ilk_signal_inspect(ilk_client *client, const void *name,
                              size_t name_len, int64_t *out_waiting,
                              ilk_error *err)
{
    inspect_request self = {.name = name, .name_len = name_len};
    ilk_status st = ilk__client_enter(client, err);

    if (st)
        return st;
    if (!out_waiting)
        return ilk__fail(err, ILK_EINVAL, "out_waiting must not be NULL");
    st = ilk__request_run(&self.request, client, begin, err);
    if (st == ILK_OK)
        *out_waiting = self.request.result.number;
    return st;
}

ilk_status ilk_signal_inspect_start(ilk_op **out, ilk_client *client,
                                    const void *name, size_t name_len,
                                    ilk_error *err)
{
    inspect_request self = {.name = name, .name_len = name_len};

    return ilk__request_start(out, &self.request, sizeof self, client, begin,
                              err);
}
