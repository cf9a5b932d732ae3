/* SPDX-License-Identifier: MIT */
/* errand.c -- operations that an event loop runs over one link. */
#include "errand_internal.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum {
    FIRST_ROOM = 64,
    /* A deadline that comes so little before the server's patience ends is
     * kept by that: it needs no timer. */
    SLACK_MS = 20
};

/* ---- lists -------------------------------------------------------------- */

static void empty(ilk__errand_list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

static void put(ilk__errand_list *list, ilk__errand *errand,
                ilk__whereabouts where)
{
    errand->next = NULL;
    *list->end = errand;
    list->end = &errand->next;
    errand->whereabouts = where;
}

static void take_out(ilk__errand_list *list, ilk__errand *errand)
{
    ilk__errand **link = &list->first;

    while (*link != errand)
        link = &(*link)->next;
    *link = errand->next;
    if (!errand->next)
        list->end = link;
}

ilk__errand *ilk__errands_take_all(ilk__errand_list *list)
{
    ilk__errand *first = list->first;

    empty(list);
    return first;
}

/* ---- making ------------------------------------------------------------- */

void ilk__errand_init(ilk__errand *errand, ilk__shared *shared,
                      const ilk__op_type *type, void *subject)
{
    memset((char *)errand + sizeof errand->op, 0,
           sizeof *errand - sizeof errand->op);
    errand->shared = shared;
    errand->timer.fire = ilk__errand_fire;
    ilk__op_init(&errand->op, type, subject, ILK__FOREVER, NULL);
}

void ilk__errands_init(ilk__errands *errands, const ilk__target *target,
                       ilk__timers *timers, int64_t reply_timeout_ms)
{
    memset(errands, 0, sizeof *errands);
    ilk__link_init(&errands->link, target);
    errands->link.carries_commands = 1;
    errands->timers = timers;
    errands->reply_timeout_ms = reply_timeout_ms;
    empty(&errands->line);
    empty(&errands->held);
}

/* ---- the wire ----------------------------------------------------------- */

ilk__awaited *ilk__errands_at(const ilk__errands *errands, uint64_t place)
{
    assert(errands->room > 0);
    return &errands->wire[place % errands->room];
}

/* Places keep their numbers, so all move when the ring gets longer. */
static ilk_status make_room(ilk__errands *errands)
{
    size_t room = errands->room ? errands->room * 2 : FIRST_ROOM;
    ilk__awaited *wire;

    if (errands->count < errands->room)
        return ILK_OK;
    wire = ilk__malloc(room * sizeof *wire);
    if (!wire)
        return ILK_ENOMEM;
    for (uint64_t i = 0; i < errands->count; i++)
        wire[(errands->first + i) % room] =
            *ilk__errands_at(errands, errands->first + i);
    ilk__free(errands->wire);
    errands->wire = wire;
    errands->room = room;
    return ILK_OK;
}

static ilk_status put_on_wire(ilk__errands *errands, ilk__errand *errand,
                              const ilk__command *command,
                              ilk__promise *promise)
{
    ilk_status st = make_room(errands);

    if (st == ILK_OK)
        st = ilk__link_send(&errands->link, command);
    if (st)
        return st;
    *ilk__errands_at(errands, errands->first + errands->count) = (ilk__awaited){
        .errand = errand,
        .promise = promise,
        .patience = ilk__deadline(errands->reply_timeout_ms),
    };
    if (errand)
        errand->place = errands->first + errands->count;
    errands->count++;
    return ILK_OK;
}

/* ---- steps -------------------------------------------------------------- */

static void set_timer(ilk__errands *errands, ilk__errand *errand, int64_t due)
{
    if (due < ILK__FOREVER)
        ilk__timer_set(errands->timers, &errand->timer, due);
    else
        ilk__timer_clear(errands->timers, &errand->timer);
}

int ilk__errand_send(ilk__errands *errands, ilk__errand *errand,
                     ilk__input *input)
{
    ilk__op *op = &errand->op;

    *input = (ilk__input){.kind = ILK__INPUT_NO_REPLY, .status = ILK_ECLOSED};
    if (errand->closed)
        return 0;
    if (!errands->link.up) {
        errands->link.wanted = 1;
        put(&errands->held, errand, ILK__ERRAND_HELD);
        set_timer(errands, errand, op->deadline);
        return 1;
    }
    input->status = put_on_wire(errands, errand, &op->command, NULL);
    if (input->status)
        return 0;
    errand->whereabouts = ILK__ERRAND_ON_WIRE;
    if (op->deadline
        < ilk__errands_at(errands, errand->place)->patience - SLACK_MS)
        set_timer(errands, errand, op->deadline);
    return 1;
}

static void tell(ilk__errands *errands, ilk__errand *errand, ilk__input *input)
{
    ilk__promise *promise = errand->op.promise;

    *input = (ilk__input){.kind = ILK__INPUT_SENT, .status = ILK_ECONN};
    if (!errands->link.up)
        return;
    input->status = put_on_wire(errands, NULL, &errand->op.command, promise);
    if (input->status == ILK_OK)
        errand->op.promise = NULL;
}

static int sleep_on(ilk__errands *errands, ilk__errand *errand,
                    ilk__input *input)
{
    *input = (ilk__input){.kind = ILK__INPUT_WAKE, .cause = ILK__CAUSE_CLOSED};
    if (errand->closed
        || (errand->is_awake && errand->is_awake(errand, &input->cause)))
        return 0;
    if (!errand->op.resend)
        ilk__command_free(&errand->op.command); /* it will ask anew */
    errand->whereabouts = ILK__ERRAND_ASLEEP;
    set_timer(errands, errand, errand->op.wake_at);
    return 1;
}

/* Until it waits for something that is not here yet. */
void ilk__errand_run(ilk__errands *errands, ilk__errand *errand,
                     ilk__input input)
{
    int waits = 0;

    errand->whereabouts = ILK__ERRAND_IDLE;
    ilk__timer_clear(errands->timers, &errand->timer);
    while (!waits) {
        ilk__act act;

        input.now = ilk__now_ms();
        act = ilk__op_step(&errand->op, &input);
        if (act == ILK__ACT_DONE)
            break;
        if (act == ILK__ACT_SEND)
            waits = ilk__errand_send(errands, errand, &input);
        else if (act == ILK__ACT_TELL)
            tell(errands, errand, &input);
        else
            waits = sleep_on(errands, errand, &input);
    }
    if (!waits)
        errand->finished(errand);
}

static void start(ilk__errands *errands, ilk__errand *errand)
{
    ilk__errand_run(errands, errand, (ilk__input){.kind = ILK__INPUT_START});
}

/* One that is to end sends nothing, and who ends it does not wait. */
void ilk__errand_start(ilk__errands *errands, ilk__errand *errand)
{
    if (errand->closed
        || (errands->count < ILK__WIRE_FULL && !errands->line.first)) {
        start(errands, errand);
    } else {
        put(&errands->line, errand, ILK__ERRAND_IN_LINE);
        set_timer(errands, errand, errand->op.deadline);
    }
}

void ilk__errands_start_next(ilk__errands *errands)
{
    ilk__errand *next;

    while (errands->count < ILK__WIRE_FULL && (next = errands->line.first)) {
        take_out(&errands->line, next);
        start(errands, next);
    }
}

void ilk__errand_wake(ilk__errands *errands, ilk__errand *errand,
                      ilk__cause cause)
{
    if (errand->whereabouts == ILK__ERRAND_ASLEEP)
        ilk__errand_run(errands, errand,
                        (ilk__input){.kind = ILK__INPUT_WAKE, .cause = cause});
}

/* ---- ending early ------------------------------------------------------- */

/* It goes on as if no reply had come. */
static void give_up(ilk__errands *errands, ilk__errand *errand,
                    ilk_status status)
{
    ilk__input input = {.kind = ILK__INPUT_NO_REPLY, .status = status};

    if (errand->whereabouts == ILK__ERRAND_HELD) {
        take_out(&errands->held, errand);
    } else {
        ilk__errands_at(errands, errand->place)->errand = NULL;
        input.may_have_run = 1;
    }
    ilk__errand_run(errands, errand, input);
}

static void leave_line(ilk__errands *errands, ilk__errand *errand)
{
    take_out(&errands->line, errand);
    start(errands, errand);
}

ilk__errand *ilk__errand_of(ilk__timer *timer)
{
    return (ilk__errand *)((char *)timer - offsetof(ilk__errand, timer));
}

void ilk__errand_fire(ilk__timer *timer, void *context)
{
    ilk__errand *errand = ilk__errand_of(timer);

    if (errand->whereabouts == ILK__ERRAND_ASLEEP)
        ilk__errand_wake(context, errand, ILK__CAUSE_TIME);
    else if (errand->whereabouts == ILK__ERRAND_IN_LINE)
        leave_line(context, errand); /* it finds its time is up */
    else
        give_up(context, errand, ILK_ETIMEOUT);
}

void ilk__errand_withhold(ilk__errands *errands, ilk__errand *errand,
                          ilk_status status)
{
    if (errand->whereabouts == ILK__ERRAND_HELD)
        give_up(errands, errand, status);
    else if (errand->whereabouts == ILK__ERRAND_IN_LINE)
        ilk__errand_close(errands, errand);
}

void ilk__errand_close(ilk__errands *errands, ilk__errand *errand)
{
    errand->closed = 1;
    if (errand->whereabouts == ILK__ERRAND_ASLEEP)
        ilk__errand_wake(errands, errand, ILK__CAUSE_CLOSED);
    else if (errand->whereabouts == ILK__ERRAND_IN_LINE)
        leave_line(errands, errand);
    else
        give_up(errands, errand, ILK_ECLOSED);
}
