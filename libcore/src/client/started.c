/* SPDX-License-Identifier: MIT */
/* started.c -- the public functions on started operations (interlock/op.h). */
#include "client.h"
#include "loop_internal.h"

static int is_mine(const ilk_op *op)
{
    return !ilk__client_is_forked(op->client) && op->era == op->client->era;
}

static ilk_status enter(const ilk_op *op, ilk_error *err)
{
    ilk__error_clear(err);
    if (!op)
        return ilk__fail(err, ILK_EINVAL, "op must not be NULL");
    if (!is_mine(op))
        return ilk__fail(err, ILK_EFORKED,
                         "the operation is the parent process'");
    return ILK_OK;
}

int64_t ilk_op_id(const ilk_op *op)
{
    return op ? op->id : 0;
}

ilk_status ilk_op_status(ilk_op *op, ilk_error *err)
{
    ilk_status st = enter(op, err);

    if (st)
        return st;
    ilk__loop_lock(op->client->loop);
    st = op->done ? op->request->status : ILK_EAGAIN;
    if (st == ILK_EAGAIN)
        ilk__fail(err, st, "the operation is under way");
    else if (st && err)
        *err = op->error;
    ilk__loop_unlock(op->client->loop);
    return st;
}

int64_t ilk_op_number(ilk_op *op)
{
    int64_t number;

    if (enter(op, NULL))
        return 0;
    ilk__loop_lock(op->client->loop);
    number = op->done ? op->request->result.number : 0;
    ilk__loop_unlock(op->client->loop);
    return number;
}

void *ilk__started_object(ilk_op *op, void (*dispose)(void *object))
{
    void *object = NULL;

    if (enter(op, NULL))
        return NULL;
    ilk__loop_lock(op->client->loop);
    if (op->done && op->request->result.dispose == dispose)
        object = op->request->result.object;
    ilk__loop_unlock(op->client->loop);
    return object;
}

ilk_status ilk_op_cancel(ilk_op *op, ilk_error *err)
{
    ilk_status st = enter(op, err);

    if (st)
        return st;
    ilk__loop_lock(op->client->loop);
    ilk__started_cancel(op->client->loop, op);
    ilk__loop_kick(op->client->loop);
    ilk__loop_unlock(op->client->loop);
    return ILK_OK;
}

void ilk_op_free(ilk_op *op)
{
    if (!op)
        return;
    if (is_mine(op)) {
        ilk__loop *loop = op->client->loop;

        ilk__loop_lock(loop);
        if (!op->done)
            ilk__started_close(loop, op);
        ilk__started_remove(op);
        ilk__loop_kick(loop);
        ilk__loop_unlock(loop);
    }
    ilk__started_discard(op);
}
