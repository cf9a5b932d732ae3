/* SPDX-License-Identifier: MIT */
/* gate_case.c -- the smallest primitive that waits without a lock. */
#include "gate_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

gate my_gate;
char gate_orphaned[1024];

/* ---- the primitive ------------------------------------------------------ */

static void ask_gate(ilk__op *op)
{
    const ilk__waiter *waiter = op->subject;

    if (ilk__wait_ask_to_go(op))
        return;
    ilk__script_begin(&op->command, op->type->script, waiter->wait_queue->keys,
                      waiter->wait_queue->key_count);
    ilk__command_add_str(&op->command, "open?");
    ilk__wait_add_place(op);
}

static ilk__act hear_gate(ilk__op *op, const ilk__reply *reply)
{
    ilk__waiter *waiter = op->subject;
    int code = ilk__script_code(reply);

    if (waiter->stage == ILK__STAGE_LEAVE)
        return ilk__wait_left(op,
                              code != ILK__CODE_GONE ? 0
                              : my_gate.nodes        ? my_gate.nodes
                                                     : 1,
                              code == ILK__CODE_GONE && waiter->accepted);
    if (code == ILK__CODE_HELD)
        return ilk__wait_got(op);
    if (code == ILK__CODE_BUSY)
        return ilk__wait_busy(op);
    for (size_t i = 0; i < waiter->wait_queue->name_count; i++)
        ilk__waiter_placed(waiter, i, ilk__script_int(reply, i));
    return ilk__wait_queued(op, -1, 0, 1);
}

static void ask_refresh(ilk__op *op)
{
    const ilk__refresher *refresher = op->subject;

    ilk__script_begin(&op->command, op->type->script, refresher->keys,
                      refresher->wait_queue.key_count);
    ilk__command_add_str(&op->command, "still?");
    ilk__refresher_add_entries(op);
}

static void withdraw_args(ilk__command *command, const ilk__withdrawal *leaving)
{
    ilk__command_add_str(command, leaving->shared->client_id);
    ilk__command_add(command, leaving->entry, leaving->entry_len);
}

static const ilk__op_type acquire = {.name = "gate",
                                     .script = ILK__SCRIPT_LOCK_ACQUIRE,
                                     .ask = ask_gate,
                                     .reply = hear_gate,
                                     .start = ilk__wait_start,
                                     .wake = ilk__wait_wake,
                                     .failed = ilk__wait_failed,
                                     .sent = ilk__wait_sent},
                          refresh = {.name = "gate_refresh",
                                     .script = ILK__SCRIPT_LOCK_REFRESH,
                                     .reply_is_optional = 1,
                                     .ask = ask_refresh,
                                     .reply = ilk__refresher_reply},
                          cancel = {.name = "gate_cancel",
                                    .script = ILK__SCRIPT_LOCK_CANCEL,
                                    .ask = ilk__give_back_ask,
                                    .reply = ilk__give_back_done,
                                    .wake = ilk__give_back_wake};

/* ---- the case ----------------------------------------------------------- */

static void note(ilk__shared *at, const ilk__message *message)
{
    size_t used = strlen(gate_orphaned);

    (void)at;
    snprintf(gate_orphaned + used, sizeof gate_orphaned - used,
             "%c%" PRId64 " %s %.*s=%.*s;", message->kind, message->waiter,
             message->signal ? message->signal : "-", (int)message->name_len,
             message->name, (int)message->data_len,
             message->data ? message->data : "");
}

int gate_setup(void)
{
    int failed = shared_case_setup();

    shared.orphaned['q' - 'a'] = note;
    shared.orphaned['s' - 'a'] = note;
    gate_orphaned[0] = '\0';
    gate_open(&my_gate, GATES);
    return failed;
}

int gate_teardown(void)
{
    gate_close(&my_gate);
    return shared_case_teardown();
}

void gate_open(gate *g, size_t names)
{
    static char words[][8] = {"w:red",  "l:red", "w:blue",
                              "l:blue", "red",   "blue"};

    memset(g, 0, sizeof *g);
    for (size_t i = 0; i < 2 * GATES; i++)
        g->keys[i] = (ilk__bytes){.data = words[i], .len = strlen(words[i])};
    for (size_t i = 0; i < GATES; i++)
        g->names[i] =
            (ilk__bytes){.data = words[4 + i], .len = strlen(words[4 + i])};
    g->wait_queue = (ilk__wait_queue){.keys = g->keys,
                                      .key_count = 2 * names,
                                      .acquire = &acquire,
                                      .refresh = &refresh,
                                      .cancel = &cancel,
                                      .kind = 's',
                                      .orphaned = note,
                                      .names = g->names,
                                      .name_count = names,
                                      .asks_to_leave = 1,
                                      .withdraw_args = withdraw_args};
    assert_int_equal(
        ilk__waiter_init(&g->waiter, &shared, &g->wait_queue, NULL), ILK_OK);
    g->waiter.tickets = g->tickets;
    ilk__op_init(&g->op, &acquire, &g->waiter, 0, &g->err);
}

void gate_close(gate *g)
{
    ilk__waiter_destroy(&g->waiter);
    ilk__op_free(&g->op);
}

ilk__act gate_wait(gate *g, int64_t timeout_ms)
{
    g->waiter.once = timeout_ms == 0;
    ilk__op_free(&g->op);
    ilk__error_clear(&g->err);
    ilk__op_init(&g->op, &acquire, &g->waiter, __wrap_ilk__deadline(timeout_ms),
                 &g->err);
    return op_start(&g->op);
}

void gate_queue(gate *g, int64_t timeout_ms)
{
    assert_int_equal(gate_wait(g, timeout_ms), ILK__ACT_SEND);
    assert_int_equal(op_answer(&g->op, "%d 10 20 0", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);
}

void assert_gate_asks(const gate *g, const char *entry)
{
    char words[1024];

    snprintf(words, sizeof words, "lock_acquire %s open? %s %s 6000 64",
             g->wait_queue.key_count == 4 ? "4 w:red l:red w:blue l:blue"
                                          : "2 w:red l:red",
             entry, shared.client_id);
    assert_string_equal(op_says(&g->op), words);
}

const char *gate_signals(const gate *g)
{
    static char text[1024];
    size_t used = 0;

    text[0] = '\0';
    for (const ilk__delivered_signal *p = g->waiter.delivered; p; p = p->next)
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%zu %s %.*s=%.*s;", p->index,
            p->message->signal, (int)p->message->name_len, p->message->name,
            (int)p->message->data_len, p->message->data);
    return text;
}
