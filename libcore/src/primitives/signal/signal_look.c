/* SPDX-License-Identifier: MIT */
/* signal_look.c -- how many wait for a signal. */
#include "signal_wait.h"

#include "client/run.h"

typedef struct looking {
    ilk__verb verb;
    const void *name; /* the caller's, until it has begun */
    size_t name_len;
    ilk__bytes keys[ILK__SIGNAL_LISTS];
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
    self->verb.result.number = reply->num;
    return ilk__op_done(op, ILK_OK);
}

static const ilk__op_type look = {.name = "signal_look",
                                  .script = ILK__SCRIPT_NONE,
                                  .reads = 1,
                                  .ask = ask,
                                  .reply = counted};

static void looked(ilk__verb *verb, ilk_status status)
{
    ilk__signal_keys_free(((looking *)verb)->keys);
    ilk__verb_end(verb, status);
}

static void begin(ilk__verb *verb)
{
    looking *self = (looking *)verb;
    ilk_status st = ilk__client_enter(verb->client, verb->err);

    if (st == ILK_OK)
        st =
            ilk__signal_keys(self->keys, self->name, self->name_len, verb->err);
    if (st)
        ilk__verb_end(verb, st);
    else
        ilk__verb_ask(verb, &look, self, ilk__verb_patience(verb), looked);
}

ilk_status ilk_signal_inspect(ilk_client *client, const void *name,
                              size_t name_len, int64_t *out_waiting,
                              ilk_error *err)
{
    looking self = {.name = name, .name_len = name_len};
    ilk_status st = ilk__client_enter(client, err);

    if (st)
        return st;
    if (!out_waiting)
        return ilk__fail(err, ILK_EINVAL, "out_waiting must not be NULL");
    st = ilk__verb_run(&self.verb, client, begin, err);
    if (st == ILK_OK)
        *out_waiting = self.verb.result.number;
    return st;
}

ilk_status ilk_signal_inspect_start(ilk_op **out, ilk_client *client,
                                    const void *name, size_t name_len,
                                    ilk_error *err)
{
    looking self = {.name = name, .name_len = name_len};

    return ilk__verb_start(out, &self.verb, sizeof self, client, begin, err);
}
