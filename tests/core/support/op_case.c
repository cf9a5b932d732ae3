/* SPDX-License-Identifier: MIT */
/* op_case.c -- what tests of machines share. */
#include "op_case.h"

#include "base/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { REPLIES = 4096, TEXT = 65536 };

int64_t local_ms;
op_seen op_case_seen;
static ilk__reply *replies[REPLIES];
static size_t reply_count;

int64_t __wrap_ilk__now_ms(void)
{
    return local_ms;
}

int64_t __wrap_ilk__deadline(int64_t timeout_ms)
{
    return timeout_ms < 0 ? ILK__FOREVER : local_ms + timeout_ms;
}

int op_case_setup(void)
{
    memset(&op_case_seen, 0, sizeof op_case_seen);
    local_ms = OP_CASE_BEGIN_MS;
    return 0;
}

int op_case_teardown(void)
{
    while (reply_count > 0)
        ilk__reply_free(replies[--reply_count]);
    return 0;
}

/* ---- replies ------------------------------------------------------------ */

static const ilk__reply *read_reply(const char *resp)
{
    struct redisReader *reader = ilk__reader_new();
    ilk__reply *reply = NULL;
    ilk_error err = {0};

    assert_non_null(reader);
    assert_int_equal(ilk__reader_feed(reader, resp, strlen(resp), &err),
                     ILK_OK);
    assert_int_equal(ilk__reader_next(reader, &reply, &err), ILK_OK);
    ilk__reader_free(reader);
    assert_true(reply_count < REPLIES);
    replies[reply_count++] = reply;
    return reply;
}

const ilk__reply *op_case_reply(const char *text)
{
    static char items[TEXT], resp[TEXT];
    size_t used = 0;
    int count = 0;

    if (!isdigit((unsigned char)*text))
        return read_reply(text);
    while (*text) {
        char *end;
        long long number = strtoll(text, &end, 10);

        assert_true(end > text);
        used +=
            (size_t)snprintf(items + used, TEXT - used, ":%lld\r\n", number);
        assert_true(used < TEXT - 64);
        count++;
        text = end + (*end == ' ');
    }
    snprintf(resp, TEXT, "*%d\r\n%.*s", count, (int)used, items);
    return read_reply(resp);
}

/* ---- feeding ------------------------------------------------------------ */

static ilk__act step(ilk__op *op, ilk__input *input)
{
    input->now = local_ms;
    return ilk__op_step(op, input);
}

ilk__act op_start(ilk__op *op)
{
    ilk__input input = {.kind = ILK__INPUT_START};

    return step(op, &input);
}

ilk__act op_answer(ilk__op *op, const char *format, ...)
{
    ilk__input input = {.kind = ILK__INPUT_REPLY};
    static char text[TEXT];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    input.reply = op_case_reply(text);
    return step(op, &input);
}

ilk__act op_no_answer(ilk__op *op, ilk_status status, int may_have_run)
{
    ilk__input input = {.kind = ILK__INPUT_NO_REPLY,
                        .status = status,
                        .may_have_run = may_have_run};

    ilk__fail(op->err, status, "as the connection tells");
    return step(op, &input);
}

ilk__act op_sent(ilk__op *op, ilk_status status)
{
    ilk__input input = {.kind = ILK__INPUT_SENT, .status = status};

    return step(op, &input);
}

ilk__act op_wake(ilk__op *op, ilk__cause cause)
{
    ilk__input input = {.kind = ILK__INPUT_WAKE, .cause = cause};

    return step(op, &input);
}

/* ---- what it asks ------------------------------------------------------- */

static const char *name_of(const char *script)
{
    for (size_t i = 0; i < ILK__SCRIPT_COUNT; i++)
        if (strcmp(script, ilk__scripts[i].sha1) == 0
            || strcmp(script, ilk__scripts[i].text) == 0)
            return ilk__scripts[i].name;
    return "unknown";
}

const char *op_says(const ilk__op *op)
{
    static char text[TEXT];
    const ilk__command *command = &op->command;
    size_t used = 0, i = 0;

    text[0] = '\0';
    assert_false(command->failed);
    if (command->argc > 1 && strncmp(command->argv[0], "EVAL", 4) == 0) {
        used = (size_t)snprintf(text, TEXT, "%s%s", name_of(command->argv[1]),
                                command->argv[0][4] ? "" : "!");
        i = 2;
    }
    for (; i < command->argc; i++) {
        int len = (int)command->lens[i];

        used += (size_t)snprintf(text + used, TEXT - used, "%s%.*s",
                                 used ? " " : "", len ? len : 2,
                                 len ? command->argv[i] : "''");
        assert_true(used < TEXT - 1024);
    }
    return text;
}

/* ---- kinds of questions ------------------------------------------------- */

static void ask(ilk__op *op)
{
    static char lock[] = "orders", fence[] = "fence";
    const ilk__bytes keys[] = {{lock, 6}, {fence, 5}};

    op_case_seen.asked++;
    ilk__script_begin(&op->command, op->type->script, keys, 2);
    ilk__command_add_str(&op->command, "token");
    ilk__command_add_int(&op->command, 30000);
}

static void ask_plainly(ilk__op *op)
{
    op_case_seen.asked++;
    ilk__command_add_str(&op->command, "PING");
}

static ilk__act on_reply(ilk__op *op, const ilk__reply *reply)
{
    (void)reply;
    op_case_seen.answered++;
    return ilk__op_done(op, ILK_OK);
}

static ilk__act on_wake(ilk__op *op, ilk__cause cause)
{
    op_case_seen.woken++;
    op_case_seen.cause = cause;
    return cause == ILK__CAUSE_INTERRUPT ? ilk__op_done(op, ILK_EINTR)
                                         : ilk__op_ask(op);
}

static ilk__act on_failure(ilk__op *op, ilk_status status)
{
    op_case_seen.failure = status;
    return ilk__op_send_only(op, NULL);
}

static ilk__act on_told(ilk__op *op, ilk_status status)
{
    return ilk__op_done(op, status ? status : ILK_ECANCELLED);
}

const ilk__op_type op_case_change = {.name = "lock_extend",
                                     .script = ILK__SCRIPT_LOCK_EXTEND,
                                     .ask = ask,
                                     .reply = on_reply};
const ilk__op_type op_case_look = {.name = "lock_extend",
                                   .script = ILK__SCRIPT_LOCK_EXTEND,
                                   .reply_is_optional = 1,
                                   .ask = ask,
                                   .reply = on_reply};
const ilk__op_type op_case_ping = {.name = "ping",
                                   .script = ILK__SCRIPT_NONE,
                                   .reply_is_optional = 1,
                                   .ask = ask_plainly,
                                   .reply = on_reply};
const ilk__op_type op_case_careful = {.name = "lock_extend",
                                      .script = ILK__SCRIPT_LOCK_EXTEND,
                                      .ask = ask,
                                      .reply = on_reply,
                                      .wake = on_wake,
                                      .failed = on_failure,
                                      .sent = on_told};
