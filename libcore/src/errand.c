/* SPDX-License-Identifier: MIT */
/* errand.c -- the operations that the keeper runs, over its calls link. */
#include "keeper_inside.h"

#include "clock.h"
#include "log.h"

#include <stddef.h>

static void append(ilk__errand ***end, ilk__errand *errand)
{
    errand->next = NULL;
    **end = errand;
    *end = &errand->next;
}

static ilk__errand *take_first(ilk__errand **first, ilk__errand ***end)
{
    ilk__errand *errand = *first;

    if (errand) {
        *first = errand->next;
        if (!*first)
            *end = first;
    }
    return errand;
}

static void step(ilk__keeper *keeper, ilk__errand *errand, ilk__input *input);

static void send_or_hold(ilk__keeper *keeper, ilk__errand *errand)
{
    if (!keeper->calls.up) {
        keeper->calls.wanted = 1;
        append(&keeper->held_end, errand);
        return;
    }
    if (ilk__link_send(&keeper->calls, &errand->op.command)) {
        ilk__input input = {.kind = ILK__INPUT_NO_REPLY, .status = ILK_ENOMEM};
        step(keeper, errand, &input);
        return;
    }
    errand->patience = ilk__deadline(keeper->reply_timeout_ms);
    append(&keeper->end, errand);
}

static void wake_errand(ilk__timer *timer, void *context)
{
    ilk__errand *errand =
        (ilk__errand *)((char *)timer - offsetof(ilk__errand, timer));
    ilk__input input = {.kind = ILK__INPUT_WAKE, .cause = ILK__CAUSE_TIME};

    step(context, errand, &input);
}

static void step(ilk__keeper *keeper, ilk__errand *errand, ilk__input *input)
{
    ilk__act act;

    input->now = ilk__now_ms();
    act = ilk__op_step(&errand->op, input);
    if (act == ILK__ACT_SEND) {
        send_or_hold(keeper, errand);
    } else if (act == ILK__ACT_SLEEP) {
        errand->timer.fire = wake_errand;
        ilk__timer_set(&keeper->desk->timers, &errand->timer,
                       errand->op.wake_at);
    } else {
        errand->finished(errand);
    }
}

void ilk__errands_start(ilk__keeper *keeper)
{
    ilk__desk *desk = keeper->desk;
    ilk__errand *errand;

    while ((errand = take_first(&desk->posted, &desk->posted_end))) {
        ilk__input input = {.kind = ILK__INPUT_START};

        step(keeper, errand, &input);
    }
}

void ilk__errands_link_up(ilk__keeper *keeper)
{
    ilk__errand *held = keeper->held, *next;

    keeper->held = NULL;
    keeper->held_end = &keeper->held;
    for (; held; held = next) {
        next = held->next;
        send_or_hold(keeper, held);
    }
}

/* All of these go without an answer; some will want to be sent again. */
static void no_reply(ilk__keeper *keeper, ilk__errand *list, int may_have_run,
                     ilk_status status)
{
    for (ilk__errand *next; list; list = next) {
        ilk__input input = {.kind = ILK__INPUT_NO_REPLY,
                            .may_have_run = may_have_run,
                            .status = status};
        next = list->next;
        step(keeper, list, &input);
    }
}

void ilk__errands_link_lost(ilk__keeper *keeper)
{
    ilk__errand *on_wire = keeper->first, *held = keeper->held;
    ilk_status status = (ilk_status)keeper->calls.error.code;

    ilk__log(ILK__LOG_INFO, "keeper: %s", keeper->calls.error.msg);
    keeper->first = keeper->held = NULL;
    keeper->end = &keeper->first;
    keeper->held_end = &keeper->held;
    no_reply(keeper, on_wire, 1, ILK_ECONN);
    no_reply(keeper, held, 0, status ? status : ILK_ECONN);
}

int ilk__errands_reply(ilk__keeper *keeper, const ilk__reply *reply)
{
    ilk__errand *errand = take_first(&keeper->first, &keeper->end);
    ilk__input input = {.kind = ILK__INPUT_REPLY, .reply = reply};

    if (!errand)
        return 0;
    step(keeper, errand, &input);
    return 1;
}

static void end(ilk__keeper *keeper, ilk__errand *errand)
{
    errand->op.status = ILK_ECLOSED;
    ilk__timer_clear(&keeper->desk->timers, &errand->timer);
    errand->finished(errand);
}

static void end_all(ilk__keeper *keeper, ilk__errand *list)
{
    for (ilk__errand *next; list; list = next) {
        next = list->next;
        end(keeper, list);
    }
}

void ilk__errands_end(ilk__keeper *keeper)
{
    ilk__desk *desk = keeper->desk;
    ilk__timer *timer;

    end_all(keeper, keeper->first);
    end_all(keeper, keeper->held);
    end_all(keeper, desk->posted);
    /* What is left are errands asleep between two tries, in no list. */
    while ((timer = ilk__timers_pop(&desk->timers, INT64_MAX)))
        if (timer->fire == wake_errand)
            end(keeper,
                (ilk__errand *)((char *)timer - offsetof(ilk__errand, timer)));
}
