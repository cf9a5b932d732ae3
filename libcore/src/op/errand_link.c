/* SPDX-License-Identifier: MIT */
/* errand_link.c -- errands: what happened on their link, and the end of all. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "errand_internal.h"

static void end_promise(ilk__promise *promise, ilk_status status)
{
    if (promise)
        promise->ended(promise, status);
}

void ilk__errands_free(ilk__errands *errands)
{
    for (uint64_t i = 0; i < errands->count; i++)
        end_promise(ilk__errands_at(errands, errands->first + i)->promise,
                    ILK_ECLOSED);
    errands->count = 0;
    ilk__free(errands->wire);
    errands->wire = NULL;
    errands->room = 0;
}

/* ---- what happened on the link ------------------------------------------ */

void ilk__errands_link_up(ilk__errands *errands)
{
    ilk__errand *held = ilk__errands_take_all(&errands->held), *next;

    for (; held; held = next) {
        ilk__input input;

        next = held->next;
        held->op.now = ilk__now_ms();
        ilk__timer_clear(errands->timers, &held->timer);
        if (!ilk__errand_send(errands, held, &input))
            ilk__errand_run(errands, held, input);
    }
}

static void tell_why(const ilk__errands *errands, ilk__errand *errand)
{
    if (errand->op.err)
        *errand->op.err = errands->link.error;
}

/* All of these go without an answer; some will want to be sent again. What is
 * sent meanwhile is on the next connection, or held. */
static void wire_lost(ilk__errands *errands)
{
    uint64_t end = errands->first + errands->count;

    while (errands->first < end) {
        ilk__awaited lost = *ilk__errands_at(errands, errands->first);
        ilk__input input = {.kind = ILK__INPUT_NO_REPLY,
                            .may_have_run = 1,
                            .status = ILK_ECONN};

        errands->first++;
        errands->count--;
        end_promise(lost.promise, ILK_ECONN);
        if (!lost.errand)
            continue;
        tell_why(errands, lost.errand);
        ilk__errand_run(errands, lost.errand, input);
    }
}

static void held_lost(ilk__errands *errands, ilk__errand *held)
{
    ilk_status status = (ilk_status)errands->link.error.code;

    for (ilk__errand *next; held; held = next) {
        ilk__input input = {.kind = ILK__INPUT_NO_REPLY,
                            .status = status ? status : ILK_ECONN};

        next = held->next;
        tell_why(errands, held);
        ilk__errand_run(errands, held, input);
    }
}

void ilk__errands_link_lost(ilk__errands *errands)
{
    ilk__errand *held = ilk__errands_take_all(&errands->held);

    wire_lost(errands);
    held_lost(errands, held);
    ilk__errands_start_next(errands);
}

int ilk__errands_reply(ilk__errands *errands, const ilk__reply *reply)
{
    ilk__awaited answered;
    if (!errands->count)
        return 0;
    answered = *ilk__errands_at(errands, errands->first);
    errands->first++;
    errands->count--;
    if (answered.promise)
        end_promise(answered.promise,
                    ilk__promise_judge(answered.promise, reply));
    if (answered.errand)
        ilk__errand_run(errands, answered.errand,
                        (ilk__input){.kind = ILK__INPUT_REPLY, .reply = reply});
    if (errands->line.first)
        ilk__errands_start_next(errands);
    return 1;
}

int64_t ilk__errands_patience(const ilk__errands *errands)
{
    return errands->count ? ilk__errands_at(errands, errands->first)->patience
                          : ILK__FOREVER;
}

static void lost(ilk__errands *errands, const char *whose)
{
    ilk__log(ILK__LOG_INFO, "%s: %s", whose, errands->link.error.msg);
    ilk__errands_link_lost(errands);
}

static void broken(ilk__errands *errands, const char *why, const char *whose)
{
    ilk__link_break(&errands->link, why);
    lost(errands, whose);
}

void ilk__errands_take(ilk__errands *errands, ilk__link_event event,
                       const ilk__reply *reply, const char *whose)
{
    if (event == ILK__LINK_CAME_UP)
        ilk__errands_link_up(errands);
    else if (event == ILK__LINK_LOST)
        lost(errands, whose);
    else if (reply->type != ILK__REPLY_PUSH
             && !ilk__errands_reply(errands, reply))
        broken(errands, "a reply too many", whose);
}

void ilk__errands_check_patience(ilk__errands *errands, int64_t now,
                                 const char *whose)
{
    if (now >= ilk__errands_patience(errands))
        broken(errands, "the server does not answer", whose);
}

/* ---- the end of all ----------------------------------------------------- */

void ilk__errand_end(ilk__errands *errands, ilk__errand *errand)
{
    errand->op.status = ILK_ECLOSED;
    ilk__timer_clear(errands->timers, &errand->timer);
    errand->finished(errand);
}

static void end_list(ilk__errands *errands, ilk__errand *errand)
{
    for (ilk__errand *next; errand; errand = next) {
        next = errand->next;
        ilk__errand_end(errands, errand);
    }
}

void ilk__errands_end(ilk__errands *errands)
{
    ilk__timer *timer;

    for (uint64_t i = 0; i < errands->count; i++)
        if (ilk__errands_at(errands, errands->first + i)->errand)
            ilk__errand_end(
                errands, ilk__errands_at(errands, errands->first + i)->errand);
    errands->count = 0;
    end_list(errands, ilk__errands_take_all(&errands->held));
    end_list(errands, ilk__errands_take_all(&errands->line));
    /* What is left sleeps between two tries, in no list. */
    while ((timer = ilk__timers_pop(errands->timers, INT64_MAX)))
        if (timer->fire == ilk__errand_fire)
            ilk__errand_end(errands, ilk__errand_of(timer));
}
