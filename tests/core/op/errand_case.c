/* SPDX-License-Identifier: MIT */
/* errand_case.c -- errands over a link that is none. */
#include "errand_case.h"

#include <string.h>

#include "cmocka_all.h"

ilk__timers timers;
ilk__errands errands;
static ilk__target target;
runner runners[ERRANDS_MOST];
pledge pledged;
int sent;
ilk_status sending;

ilk_status __wrap_ilk__link_send(ilk__link *link, const ilk__command *command)
{
    (void)link;
    (void)command;
    if (sending == ILK_OK)
        sent++;
    return sending;
}

static void kept(ilk__promise *promise, ilk_status status)
{
    pledge *self = (pledge *)promise;

    self->ended++;
    self->status = status;
}

static void finished(ilk__errand *errand)
{
    runner *self = (runner *)errand;
    const ilk__op_type *more = self->more;

    self->status = errand->op.status;
    ilk__op_free(&errand->op);
    self->more = NULL;
    if (more) {
        ilk__op_init(&errand->op, more, NULL, errand->op.deadline, &self->err);
        ilk__errand_start(&errands, errand);
        return;
    }
    self->ended++;
    self->ended_at = local_ms;
    ilk__timers_unreserve(&timers);
}

int errand_setup(void **state)
{
    memset(runners, 0, sizeof runners);
    memset(&timers, 0, sizeof timers);
    memset(&pledged, 0, sizeof pledged);
    pledged.promise.ended = kept;
    sent = 0;
    sending = ILK_OK;
    ilk__errands_init(&errands, &target, &timers, ERRAND_REPLY_MS);
    errands.link.up = 1;
    return op_case_setup(state);
}

int errand_teardown(void **state)
{
    assert_int_equal(errands.count, 0);
    assert_null(errands.line.first);
    assert_null(errands.held.first);
    assert_int_equal(timers.count, 0);
    assert_int_equal(timers.reserved, 0);
    ilk__errands_free(&errands);
    ilk__timers_free(&timers);
    return op_case_teardown(state);
}

runner *start_errand(int number, const ilk__op_type *type, int64_t timeout_ms)
{
    runner *self = &runners[number];

    ilk__errand_init(&self->errand, NULL, type, NULL);
    self->errand.op.deadline = __wrap_ilk__deadline(timeout_ms);
    self->errand.op.err = &self->err;
    self->errand.finished = finished;
    assert_int_equal(ilk__timers_reserve(&timers, NULL), ILK_OK);
    ilk__errand_start(&errands, &self->errand);
    return self;
}

void start_errands(int count)
{
    for (int i = 0; i < count; i++)
        start_errand(i, &op_case_change, -1);
}

void answer_errands(int count)
{
    while (count--)
        assert_int_equal(
            ilk__errands_reply(&errands, op_case_reply("1 30000 17 5")), 1);
}

void tick(int64_t ms)
{
    ilk__timer *timer;

    local_ms += ms;
    while ((timer = ilk__timers_pop(&timers, local_ms)))
        timer->fire(timer, &errands);
}

void lose_link(void)
{
    errands.link.up = 0;
    ilk__fail(&errands.link.error, ILK_ECONN, "gone");
    ilk__errands_link_lost(&errands);
}

void bring_link_up(void)
{
    errands.link.up = 1;
    ilk__errands_link_up(&errands);
}
