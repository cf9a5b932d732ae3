/* SPDX-License-Identifier: MIT */
/* shared_case.c -- shared client state without threads and server. */
#include "shared_case.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "pubsub/channel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

enum { TEXT = 2048 };

ilk__shared shared;
ilk__subscriber inbox_subscriber, replica_subscriber;
ilk__subscriber *inbox_receiver;
static const ilk__target target; /* nothing connects to it */

int shared_case_setup(void)
{
    if (op_case_setup() || ilk__shared_open(&shared, "me", NULL))
        return -1;
    ilk__subscriber_init(&inbox_subscriber, 0, &target);
    ilk__subscriber_init(&replica_subscriber, 1, &target);
    inbox_receiver = &inbox_subscriber;
    shared.inbox = ILK__INBOX_READY;
    return 0;
}

/* Things that were given back and not looked at are of no interest any more. */
int shared_case_teardown(void)
{
    ilk__inflight *inflight;

    while ((inflight = next_inflight()))
        inflight_end(inflight, ILK_ECLOSED);
    assert_int_equal(shared.timers.reserved, 0);
    assert_int_equal(shared.timers.count, 0);
    assert_int_equal(shared.waiters.count, 0);
    assert_int_equal(shared.refreshers.count, 0);
    assert_int_equal(shared.stats.waiting, 0);
    assert_int_equal(shared.stats.held, 0);
    ilk__channels_free(&shared);
    ilk__shared_close(&shared);
    ilk__subscriber_close(&inbox_subscriber);
    ilk__subscriber_close(&replica_subscriber);
    return op_case_teardown();
}

/* ---- takers ------------------------------------------------------------- */

void taker_open(taker *t, const char *name, const ilk__hold_kind *kind)
{
    memset(t, 0, sizeof *t);
    snprintf(t->name, sizeof t->name, "%s", name);
    assert_int_equal(ilk__lock_keys(t->keys, name, strlen(name), NULL), ILK_OK);
    t->wait_queue = (ilk__wait_queue){.keys = t->keys,
                                      .key_count = ILK__LOCK_KEYS,
                                      .acquire = kind->acquire,
                                      .refresh = kind->refresh,
                                      .cancel = kind->cancel,
                                      .kind = kind->waits_as,
                                      .orphaned = kind->orphaned,
                                      .barge = kind->barges,
                                      .foreign_poll_ms = ILK__FOREIGN_POLL_MS};
    assert_int_equal(
        ilk__waiter_init(&t->waiter, &shared, &t->wait_queue, NULL), ILK_OK);
    t->waiter.lease_ms = ILK__LEASE_DEFAULT_MS;
    ilk__op_init(&t->op, kind->acquire, &t->waiter, 0, &t->err);
}

void taker_close(taker *t)
{
    ilk__waiter_destroy(&t->waiter);
    ilk__op_free(&t->op);
    ilk__lock_keys_free(t->keys);
}

ilk__act taker_acquire(taker *t, int64_t timeout_ms)
{
    t->waiter.once = timeout_ms == 0;
    ilk__op_free(&t->op);
    ilk__error_clear(&t->err);
    ilk__op_init(&t->op, t->wait_queue.acquire, &t->waiter,
                 __wrap_ilk__deadline(timeout_ms ? timeout_ms : 7000), &t->err);
    return op_start(&t->op);
}

void taker_queue(taker *t, int64_t timeout_ms)
{
    assert_int_equal(taker_acquire(t, timeout_ms), ILK__ACT_SEND);
    assert_int_equal(op_answer(&t->op, "%d 9000 1000000 1", ILK__CODE_QUEUED),
                     ILK__ACT_SLEEP);
}

static size_t put_keys(char *text, const taker *t)
{
    return (size_t)snprintf(text, TEXT, "5 %s %s %s %s %s", t->keys[0].data,
                            t->keys[1].data, t->keys[2].data, t->keys[3].data,
                            t->keys[4].data);
}

const char *taker_asks(const taker *t, int queued)
{
    static char text[2 * TEXT];
    char keys[TEXT];

    put_keys(keys, t);
    snprintf(text, sizeof text,
             "lock_acquire %s %s %" PRId64 " %s me %" PRId64 " %.*s %s%s", keys,
             ilk__waiter_token(&t->waiter), t->waiter.lease_ms,
             shared.client_id, t->waiter.floor,
             queued ? (int)t->waiter.entry_len : 2,
             queued ? t->waiter.entry : "''", shared.client_id,
             t->wait_queue.barge ? " 1" : "");
    return text;
}

static const char *take_back(const taker *t, const char *script)
{
    static char text[2 * TEXT];
    char keys[TEXT];
    int len = (int)t->waiter.entry_len;

    put_keys(keys, t);
    snprintf(text, sizeof text, "%s %s %.*s %s 5000 64 %d 6000", script, keys,
             len ? len : 2, len ? t->waiter.entry : "''",
             ilk__waiter_token(&t->waiter), t->wait_queue.barge);
    return text;
}

const char *taker_tells(const taker *t)
{
    return take_back(t, "lock_cancel!");
}

const char *taker_gives_back(const taker *t)
{
    return take_back(t, "lock_cancel");
}

/* ---- the keeper's part -------------------------------------------------- */

void shared_tick(int64_t ms)
{
    ilk__timer *timer;

    local_ms += ms;
    ilk__shared_lock(&shared);
    while ((timer = ilk__timers_pop(&shared.timers, local_ms)))
        timer->fire(timer, NULL);
    ilk__shared_unlock(&shared);
}

ilk__inflight *next_inflight(void)
{
    ilk__inflight *inflight;

    ilk__shared_lock(&shared);
    inflight = shared.posted;
    if (inflight) {
        shared.posted = inflight->next;
        if (!shared.posted)
            shared.posted_end = &shared.posted;
        assert_int_equal(op_start(&inflight->op), ILK__ACT_SEND);
        inflight->state = ILK__INFLIGHT_ON_WIRE;
    }
    ilk__shared_unlock(&shared);
    return inflight;
}

static ilk__act stepped(ilk__inflight *inflight, ilk__act act)
{
    if (act == ILK__ACT_DONE)
        inflight->finished(inflight);
    return act;
}

ilk__act inflight_answer(ilk__inflight *inflight, const char *format, ...)
{
    static char text[64 * 1024];
    ilk__act act;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ilk__shared_lock(&shared);
    act = stepped(inflight, op_answer(&inflight->op, "%s", text));
    ilk__shared_unlock(&shared);
    return act;
}

ilk__act inflight_no_answer(ilk__inflight *inflight, ilk_status status,
                            int may_have_run)
{
    ilk__act act;

    ilk__shared_lock(&shared);
    act = stepped(inflight, op_no_answer(&inflight->op, status, may_have_run));
    ilk__shared_unlock(&shared);
    return act;
}

void inflight_end(ilk__inflight *inflight, ilk_status status)
{
    ilk__shared_lock(&shared);
    inflight->op.status = status;
    inflight->finished(inflight);
    ilk__shared_unlock(&shared);
}

void assert_gives_back(const char *words)
{
    ilk__inflight *inflight = next_inflight();

    assert_non_null(inflight);
    assert_string_equal(op_says(&inflight->op), words);
    assert_int_equal(inflight_answer(inflight, "%d", ILK__CODE_GONE),
                     ILK__ACT_DONE);
}

/* Once more, for what a broken connection may have carried in behind it. */
void assert_gives_back_twice(const char *words)
{
    ilk__inflight *inflight = next_inflight();

    assert_non_null(inflight);
    assert_string_equal(op_says(&inflight->op), words);
    assert_int_equal(inflight_answer(inflight, "%d", ILK__CODE_GONE),
                     ILK__ACT_SLEEP);
    local_ms = inflight->op.wake_at;
    ilk__shared_lock(&shared);
    assert_int_equal(stepped(inflight, op_wake(&inflight->op, ILK__CAUSE_TIME)),
                     ILK__ACT_SEND);
    ilk__shared_unlock(&shared);
    assert_string_equal(op_says(&inflight->op), words);
    assert_int_equal(inflight_answer(inflight, "%d", ILK__CODE_GONE),
                     ILK__ACT_DONE);
}

/* ---- the inbox ---------------------------------------------------------- */

void inbox_receives_raw(const char *resp)
{
    const ilk__reply *reply = op_case_reply(resp);

    ilk__shared_lock(&shared);
    ilk__inbox_reply(&shared, inbox_receiver, reply);
    ilk__shared_unlock(&shared);
}

static const char *own_channel(void)
{
    static char channel[64];

    snprintf(channel, sizeof channel, "ilk:inbox:%s", shared.client_id);
    return channel;
}

void inbox_subscribes(ilk__subscriber *subscriber)
{
    ilk__subscriber_call(subscriber, "SUBSCRIBE", own_channel(),
                         strlen(own_channel()),
                         (ilk__subscribe_call){.kind = ILK__SUBSCRIBE_OWN});
}

void inbox_confirms(ilk__subscriber *subscriber)
{
    char resp[256];

    snprintf(resp, sizeof resp, ">3\r\n$9\r\nsubscribe\r\n$%zu\r\n%s\r\n:1\r\n",
             strlen(own_channel()), own_channel());
    inbox_subscribes(subscriber);
    inbox_receiver = subscriber;
    inbox_receives_raw(resp);
}

/* The name of a grant or wake follows `words` words. */
static void secret_of(char *secret, char kind, long long id, const char *text,
                      size_t len, const char *at, int words)
{
    while (words-- > 0 && (at = strchr(at, ' ')))
        at++;
    ilk__secret_of_waiter(secret, &shared, kind, id, at ? at : "",
                          at ? len - (size_t)(at - text) : 0);
}

/* Put the right secret into a message without one; any other text is copied. */
static size_t prove(char *out, size_t room, const char *payload, size_t len)
{
    char text[TEXT], secret[ILK__SECRET_LEN + 1], type[8] = "", kind;
    long long number, bytes;
    int at = 0, end = 0;
    size_t used;

    assert_true(len < sizeof text);
    memcpy(text, payload, len);
    text[len] = '\0';
    sscanf(text, "1 %7s", type);
    if ((strcmp(type, "grant") == 0 || strcmp(type, "wake") == 0)
        && sscanf(text, "1 %*s %c%lld%n", &kind, &number, &at) == 2 && at
        && text[at] == ' ') {
        secret_of(secret, kind, number, text, len, text + at,
                  type[0] == 'g' ? 5 : 1);
        used = (size_t)snprintf(out, room, "%.*s.%s", at, text, secret);
    } else if ((sscanf(text, "1 notify %lld%n %*s %lld %n", &number, &at,
                       &bytes, &end)
                    == 2
                || sscanf(text, "1 signal s%lld%n %*s %lld %n", &number, &at,
                          &bytes, &end)
                       == 2)
               && end && (size_t)end + (size_t)bytes <= len) {
        ilk__secret_of_list(secret, &shared, text + end, (size_t)bytes);
        used = (size_t)snprintf(out, room, "%.*s.%s", at, text, secret);
    } else if (strcmp(type, "change") == 0 && len > 9) {
        at = 9;
        ilk__secret_of_list(secret, &shared, text + at, len - 9);
        used = (size_t)snprintf(out, room, "1 change %s ", secret);
    } else {
        used = 0;
    }
    memcpy(out + used, text + at, len - (size_t)at);
    return used + len - (size_t)at;
}

/* NUL does not travel through op_case_reply(): put it in afterwards. */
void inbox_receives_forged(const char *payload, size_t len)
{
    char text[2 * TEXT];
    const ilk__reply *reply;

    snprintf(text, sizeof text,
             ">3\r\n$7\r\nmessage\r\n$%zu\r\nilk:inbox:%s\r\n$%zu\r\n%*s\r\n",
             strlen("ilk:inbox:") + strlen(shared.client_id), shared.client_id,
             len, (int)len, "");
    reply = op_case_reply(text);
    if (len)
        memcpy(reply->items[2]->str, payload, len);
    ilk__shared_lock(&shared);
    ilk__inbox_reply(&shared, inbox_receiver, reply);
    ilk__shared_unlock(&shared);
}

void inbox_receives_bytes(const char *payload, size_t len)
{
    char text[2 * TEXT];

    inbox_receives_forged(text, prove(text, sizeof text, payload, len));
}

void inbox_receives(const char *format, ...)
{
    char text[TEXT];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    inbox_receives_bytes(text, (size_t)len);
}

void inbox_grants(const taker *t, int64_t fence, int64_t lease_ms,
                  int64_t server_us)
{
    inbox_receives(
        "1 grant %c%" PRId64 " %s %" PRId64 " %" PRId64 " %" PRId64 " %s",
        t->wait_queue.kind, t->waiter.id, ilk__waiter_token(&t->waiter), fence,
        lease_ms, server_us, t->name);
}
