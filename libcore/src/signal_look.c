/* SPDX-License-Identifier: MIT */
/* signal_look.c -- how many wait for a signal. */
#include "signal_wait.h"

#include "run.h"

typedef struct looking {
    ilk__bytes keys[ILK__SIGNAL_LISTS];
    int64_t waiting;
} looking;

static void ask(ilk__op *op)
{
    const looking *self = op->subject;

    ilk__command_add_str(&op->command, "ZCARD");
    ilk__command_add(&op->command, self->keys[0].data, self->keys[0].len);
}

static ilk__act counted(ilk__op *op, const ilk__reply *reply)
{
    looking *self = op->subject;

    if (reply->type != ILK__REPLY_INT)
        return ilk__op_fail(op, ILK_EREPLY, "zcard: a reply of a wrong shape");
    self->waiting = reply->num;
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type look = {.name = "signal_look",
                                  .script = ILK__SCRIPT_NONE,
                                  .reads = 1,
                                  .ask = ask,
                                  .reply = counted};

ilk_status ilk_signal_inspect(ilk_client *client, const void *name,
                              size_t name_len, int64_t *out_waiting,
                              ilk_error *err)
{
    looking self;
    ilk_status st = ilk__client_enter(client, err);

    if (st)
        return st;
    if (!out_waiting)
        return ilk__fail(err, ILK_EINVAL, "out_waiting must not be NULL");
    st = ilk__signal_keys(self.keys, name, name_len, err);
    if (st)
        return st;
    st = ilk__ask(client, &look, &self, client->opts.reply_timeout_ms, err);
    if (st == ILK_OK)
        *out_waiting = self.waiting;
    ilk__signal_keys_free(self.keys);
    return st;
}
