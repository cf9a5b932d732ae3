/* SPDX-License-Identifier: MIT */
/*
 * run.c -- the blocking driver: the caller's thread steps an operation until it
 * is done.
 *
 *     SEND       ilk__lanes_call(): write the command, wait for the reply
 *     SEND_ONLY  ilk__lanes_send_only(): write the command only
 *     SLEEP      park until wake_at, a wake-up, an interrupt, a stop or the close
 *
 * A call whose lane is down sleeps, too, and is then woken like a sleeping operation.
 *
 * A wake-up after the step, but before the thread is among the sleepers, would
 * be lost. So counters of wake-ups and interrupts are read before the step
 * (sleep_marks) and compared when the thread has registered as a sleeper.
 */
#include "run.h"

#include "base/clock.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

/*
 * An interpreter runs its signal handlers on its main thread only, but the
 * kernel may deliver the OS signal to any thread. So with ILK_CLIENT_TICK a
 * wait in the main thread returns ILK_EINTR this often.
 */
enum { TICK_MS = 250 };

int ilk__run_ticks(const ilk_client *client)
{
    if (!(client->opts.flags & ILK_CLIENT_TICK))
        return 0;
#ifdef __linux__
    return syscall(SYS_gettid) == getpid();
#else
    return 1;
#endif
}

static void enter_sleep(ilk__shared *shared, ilk__sleeper *self)
{
    ilk__shared_lock(shared);
    self->next = shared->sleepers;
    shared->sleepers = self;
    ilk__shared_unlock(shared);
}

static void leave_sleep(ilk__shared *shared, ilk__sleeper *self)
{
    ilk__sleeper **link;

    ilk__shared_lock(shared);
    for (link = &shared->sleepers; *link != self;)
        link = &(*link)->next;
    *link = self->next;
    ilk__shared_unlock(shared);
}

/* The shared state's counters: the wake-ups before the step that led to this
 * sleep; the interrupts that the operation has got, at first those before it
 * began; the stop that it has got, at first none. */
typedef struct sleep_marks {
    uint32_t interrupts, wakes, stop;
    int64_t ticked_at; /* an attempt may take longer than TICK_MS */
} sleep_marks;

/* Whether the client was interrupted since the last call. The operation gets
 * each interrupt once: if it sleeps on, the next sleep is a full one. */
static int take_interrupts(const ilk__shared *shared, sleep_marks *seen)
{
    uint32_t interrupts = atomic_load(&shared->interrupts);
    int is_new = interrupts != seen->interrupts;

    seen->interrupts = interrupts;
    return is_new;
}

/* A wait in its wait queue returns to an interpreter, which runs its signal handlers and
 * goes on with the same wait by another call. A request would begin anew, and so would a
 * wait in an outage: the interpreter is called back instead (`interrupted`). */
static int returns_for_handlers(const ilk__op *op)
{
    return op->type->wake && !op->resend;
}

static ilk__cause on_signal(const ilk_client *client, const ilk__op *op)
{
    const ilk_client_opts *opts = &client->opts;

    if (returns_for_handlers(op) || !opts->interrupted
        || opts->interrupted(opts->user))
        return ILK__CAUSE_INTERRUPT;
    return ILK__CAUSE_NEWS;
}

static ilk__cause sleep_until(ilk_client *client, const ilk__op *op,
                              int64_t until, ilk__parker *parker,
                              sleep_marks *seen)
{
    ilk__shared *shared = client->shared;
    int ticking = (returns_for_handlers(op) || client->opts.interrupted)
                  && ilk__run_ticks(client);
    int64_t limit = until;
    ilk_status st;

    if (ilk__shared_is_stopped_anew(shared, &seen->stop))
        return ILK__CAUSE_STOPPED;
    if (ticking)
        limit = ilk__sooner(limit, seen->ticked_at + TICK_MS);
    /* Woken before this thread was among the sleepers: do not sleep. */
    if (client->closed || atomic_load(&shared->wakes) != seen->wakes
        || atomic_load(&shared->interrupts) != seen->interrupts)
        limit = 0;
    st = ilk__park(parker, limit);
    if (client->closed)
        return ILK__CAUSE_CLOSED;
    if (ilk__shared_is_stopped_anew(shared, &seen->stop))
        return ILK__CAUSE_STOPPED;
    if (take_interrupts(shared, seen))
        return ILK__CAUSE_INTERRUPT;
    if (st == ILK_EINTR)
        return on_signal(client, op);
    if (st == ILK_OK || limit == 0)
        return ILK__CAUSE_NEWS;
    if (!ticking || ilk__now_ms() >= until)
        return ILK__CAUSE_TIME;
    seen->ticked_at = ilk__now_ms();
    return on_signal(client, op);
}

/* Without the keeper nobody would wake the operation: it ends as one of a closed
 * client, and withdraws what it may have on the server. */
static void sleep_on(ilk_client *client, const ilk__op *op, ilk__parker *parker,
                     sleep_marks *seen, ilk__input *input, ilk_error *no_keeper)
{
    ilk__sleeper self = {.parker = parker};

    input->kind = ILK__INPUT_WAKE;
    input->cause = ILK__CAUSE_CLOSED;
    if (ilk__keeper_start(client->keeper, no_keeper))
        return;
    enter_sleep(client->shared, &self);
    input->cause = sleep_until(client, op, op->wake_at, parker, seen);
    leave_sleep(client->shared, &self);
}

/* The sleep of a call whose lane is down. */
typedef struct call_sleep {
    ilk__lane_sleep sleep;
    ilk_client *client;
    const ilk__op *op;
    sleep_marks *seen;
    ilk__cause cause; /* why it ended the call */
} call_sleep;

/* The keeper wakes it at an interrupt or a stop. In an outage it is there. */
static ilk_status park_call(ilk__lane_sleep *sleep, ilk__parker *parker,
                            int64_t until)
{
    call_sleep *self = (call_sleep *)sleep;
    ilk__shared *shared = self->client->shared;
    ilk__sleeper sleeper = {.parker = parker};

    if (atomic_load(&shared->outage.since))
        (void)ilk__keeper_start(self->client->keeper, NULL);
    enter_sleep(shared, &sleeper);
    self->seen->wakes = atomic_load(&shared->wakes); /* no news for a call */
    self->cause =
        sleep_until(self->client, self->op, until, parker, self->seen);
    leave_sleep(shared, &sleeper);
    return self->cause == ILK__CAUSE_NEWS || self->cause == ILK__CAUSE_TIME
               ? ILK_OK
               : ILK_EINTR;
}

/* Returns the lane over which the command was sent. */
static ilk__lane *send(ilk_client *client, ilk__op *op, sleep_marks *seen,
                       ilk__input *input, ilk__reply **reply)
{
    call_sleep sleep = {
        .sleep = {park_call}, .client = client, .op = op, .seen = seen};
    ilk__lane_call call = {
        .command = &op->command,
        .deadline = op->deadline,
        .patience = ilk__deadline(client->opts.reply_timeout_ms),
        .pauses_until = op->pauses_until,
        .sleep = op->pauses_until ? &sleep.sleep : NULL,
    };

    op->resend = 1; /* if it sleeps, it is for an outage */
    input->status = ilk__lanes_call(client->lanes, &call, op->err);
    op->resend = input->status == ILK_EINTR;
    input->kind = input->status ? ILK__INPUT_NO_REPLY : ILK__INPUT_REPLY;
    input->may_have_run = call.may_have_run;
    input->reply = *reply = call.reply;
    if (input->status == ILK_EINTR) {
        input->kind = ILK__INPUT_WAKE;
        input->cause = sleep.cause;
    }
    return call.lane;
}

/* The operation's status, or why it ended like one of a closed client. */
static ilk_status outcome(const ilk__op *op, const ilk_error *no_keeper)
{
    if (op->status != ILK_ECLOSED || !no_keeper->code)
        return op->status;
    if (op->err)
        *op->err = *no_keeper;
    return (ilk_status)no_keeper->code;
}

/* The keeper retransmits ensured commands, so it must be running. */
static ilk_status send_only(ilk_client *client, ilk__op *op)
{
    ilk__ensured *ensured = op->ensured;

    op->ensured = NULL;
    if (ensured)
        (void)ilk__keeper_start(client->keeper, NULL);
    return ilk__lanes_send_only(client->lanes, &op->command, ensured);
}

ilk_status ilk__run(ilk_client *client, ilk__op *op, ilk__parker *parker)
{
    ilk__shared *shared = client->shared;
    sleep_marks seen = {.interrupts = atomic_load(&shared->interrupts),
                        .ticked_at = ilk__now_ms()};
    ilk__input input = {.kind = ILK__INPUT_START};
    ilk__reply *reply = NULL;
    ilk__lane *lane = NULL; /* of the last call */
    ilk_error no_keeper = {0};

    ilk__error_clear(op->err);
    if (!op->type->wake) /* an earlier stop does not end a request */
        (void)ilk__shared_is_stopped_anew(shared, &seen.stop);
    for (;;) {
        ilk__act act;

        seen.wakes = atomic_load(&shared->wakes);
        input.now = ilk__now_ms();
        act = ilk__op_step(op, &input);
        ilk__reply_free(reply);
        reply = NULL;
        if (op->bad_reply) {
            op->bad_reply = 0;
            ilk__lane_distrust(lane);
        }
        memset(&input, 0, sizeof input);
        if (act == ILK__ACT_DONE)
            return outcome(op, &no_keeper);
        if (act == ILK__ACT_SEND) {
            lane = send(client, op, &seen, &input, &reply);
        } else if (act == ILK__ACT_SEND_ONLY) {
            input.kind = ILK__INPUT_SENT;
            input.status = send_only(client, op);
        } else {
            sleep_on(client, op, parker, &seen, &input, &no_keeper);
        }
    }
}

ilk_status ilk__ask(ilk_client *client, const ilk__op_type *type, void *subject,
                    int64_t deadline, ilk_error *err)
{
    ilk__parker parker;
    ilk_error own = {0};
    ilk__op op;
    ilk_status st = ilk__parker_init(&parker, err);

    if (st)
        return st;
    ilk__op_init(&op, type, subject, deadline, err ? err : &own);
    op.outage = &client->shared->outage;
    op.persist_ms = op.outage->wait_ms;
    st = ilk__run(client, &op, &parker);
    ilk__op_free(&op);
    ilk__parker_destroy(&parker);
    return st;
}

ilk_status ilk__request_run(ilk__request *request, ilk_client *client,
                            ilk__request_begin *begin, ilk_error *err)
{
    ilk_error own = {0};
    ilk__parker parker;
    ilk__op op;
    ilk_status st = ilk__parker_init(&parker, err);

    if (st)
        return st;
    request->client = client;
    if (client) /* else begin() refuses */
        request->reply_timeout_ms = client->opts.reply_timeout_ms;
    if (client
        && client->shared) /* there is none after a reopening that failed */
        request->outage = &client->shared->outage;
    request->op = &op;
    request->err = err ? err : &own;
    begin(request);
    while (request->then) {
        ilk__request_then *then = request->then;

        assert(client);
        st = ilk__run(client, &op, request->parker ? request->parker : &parker);
        ilk__op_free(&op);
        request->then = NULL;
        then(request, st);
    }
    ilk__parker_destroy(&parker);
    return request->status;
}
