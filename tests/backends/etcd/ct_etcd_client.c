/* SPDX-License-Identifier: MIT */
/* ct_etcd_client.c -- the client of etcd, with a real etcd. */
#include "base/alloc.h"
#include "base/clock.h"
#include "certs.h"
#include "etcd_client.h"
#include "etcd_server.h"
#include "gateway/backend.h"
#include "peer.h"
#include "test.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000, KVS_MOST = 8 };

static etcd_server server;
static ilk__etcd *client;
static const ilk__backend plain = {.scheme = "etcd"},
                          with_tls = {.scheme = "etcd+tls"};

/* ---- a client, and its loop ------------------------------------------------- */

static ilk_status open_client(const char *text, ilk_error *err)
{
    ilk__url url;
    ilk_status st = ilk__url_parse(&url, text, err);

    assert_null(client);
    if (st == ILK_OK)
        st = ilk__etcd_open(&client, &url, url.options, err);
    ilk__url_free(&url);
    return st;
}

static void open_at(const char *login, const char *hosts, const char *options)
{
    char text[256];
    ilk_error err;

    snprintf(text, sizeof text, "etcd://%s%s%s%s", login, hosts,
             *options ? "?" : "", options);
    if (open_client(text, &err))
        fail_msg("%s: %s", text, err.msg);
}

static const char *here(void)
{
    static char text[32];

    snprintf(text, sizeof text, "127.0.0.1:%d", server.port);
    return text;
}

static int start_server(void)
{
    int status = etcd_server_start(&server, NULL);

    if (status == ETCD_SERVER_SKIP)
        exit(ETCD_SERVER_SKIP);
    ilk__url_add_backend("etcd", &plain);
    ilk__url_add_backend("etcd+tls", &with_tls);
    return status;
}

static int stop_server(void)
{
    etcd_server_stop(&server);
    return 0;
}

AROUND_ALL(start_server, stop_server);

static int close_client(void)
{
    ilk__etcd_close(client);
    client = NULL;
    return 0;
}

static int open_here(void)
{
    open_at("", here(), "");
    return 0;
}

AROUND_EACH(open_here, close_client);

static void turn(int64_t until)
{
    struct pollfd fds[2];
    size_t count = ilk__etcd_prepare(client, fds, 2, &until);

    poll(fds, (nfds_t)count, ilk__poll_timeout(until));
    ilk__etcd_polled(client, fds, count);
}

/* Turns of the loop until *flag has this value. */
static void await(const int *flag, int value)
{
    int64_t deadline = ilk__deadline(PATIENCE_MS);

    while (*flag < value) {
        if (ilk__now_ms() >= deadline)
            fail_msg("%d of %d, and then nothing came", *flag, value);
        turn(deadline);
    }
}

static void run_for(int64_t ms)
{
    int64_t deadline = ilk__deadline(ms);

    while (ilk__now_ms() < deadline)
        turn(deadline);
}

/* ---- calls -------------------------------------------------------------------- */

typedef struct result {
    int count; /* of callbacks */
    ilk__etcd_answer answer;
    char error[300];
    ilk__etcd_op_answer ops[4];
    char keys[KVS_MOST * 64]; /* of the last op: "key=value@lease " */
    int64_t create_revision;  /* of the last key */
    char version[32];
} result;

static void note_kv(result *to, const ilk__etcd_kv *kv)
{
    size_t len = strlen(to->keys);

    snprintf(to->keys + len, sizeof to->keys - len, "%.*s=%.*s ",
             (int)kv->key.len, kv->key.at, (int)kv->value.len, kv->value.at);
    to->create_revision = kv->create_revision;
}

static void note(void *owner, const ilk__etcd_answer *answer)
{
    result *to = owner;

    to->count++;
    to->answer = *answer;
    snprintf(to->error, sizeof to->error, "%s",
             answer->error ? answer->error : "");
    snprintf(to->version, sizeof to->version, "%s",
             answer->version ? answer->version : "");
    to->keys[0] = '\0';
    for (size_t i = 0; i < answer->op_count && i < 4; i++) {
        to->ops[i] = answer->ops[i];
        to->keys[0] = '\0';
        for (size_t k = 0; k < answer->ops[i].kv_count && k < KVS_MOST; k++)
            note_kv(to, &answer->ops[i].kvs[k]);
    }
}

static ilk__span span(const char *text)
{
    return (ilk__span){text, strlen(text)};
}

static ilk__etcd_op put_op(const char *key, const char *value, int64_t lease)
{
    return (ilk__etcd_op){.kind = ILK__ETCD_PUT,
                          .key = span(key),
                          .value = span(value),
                          .lease = lease};
}

static ilk__etcd_op range_op(const char *key, const char *end)
{
    return (ilk__etcd_op){
        .kind = ILK__ETCD_RANGE, .key = span(key), .range_end = span(end)};
}

static ilk__etcd_op delete_op(const char *key, const char *end)
{
    return (ilk__etcd_op){
        .kind = ILK__ETCD_DELETE, .key = span(key), .range_end = span(end)};
}

static void begin_ops(result *to, const ilk__etcd_op *ops, size_t count,
                      int64_t reply_ms)
{
    ilk__etcd_txn txn = {.then_ops = ops, .then_count = count};

    memset(to, 0, sizeof *to);
    assert_int_equal(ilk__etcd_commit(client, &txn, reply_ms, note, to),
                     ILK_OK);
}

static result *do_op(ilk__etcd_op op)
{
    static result last;

    begin_ops(&last, &op, 1, 0);
    await(&last.count, 1);
    if (last.answer.status)
        fail_msg("%s", last.error);
    return &last;
}

static void expect_error(const result *got, ilk_status status, const char *text)
{
    if (got->answer.status != status || !strstr(got->error, text))
        fail_msg("status %d: %s; expected %d: %s", got->answer.status,
                 got->error, status, text);
}

static int64_t grant(int64_t ttl_s)
{
    result got = {.count = 0};

    assert_int_equal(ilk__etcd_grant(client, 0, ttl_s, PATIENCE_MS, note, &got),
                     ILK_OK);
    await(&got.count, 1);
    assert_int_equal(got.answer.status, ILK_OK);
    assert_true(got.answer.lease != 0);
    assert_true(got.answer.ttl_s >= ttl_s);
    return got.answer.lease;
}

/* ---- watches ------------------------------------------------------------------ */

typedef struct seen {
    int created, puts, deletes, ended;
    int64_t revision;
    ilk_status status;
    char error[300];
    char last_key[64];
    int is_gone;
} seen;

static void see(void *owner, const ilk__etcd_news *news)
{
    seen *to = owner;

    assert_false(to->ended);
    to->revision = news->revision;
    switch (news->kind) {
    case ILK__ETCD_CREATED: to->created++; break;
    case ILK__ETCD_KEY_PUT: to->puts++; break;
    case ILK__ETCD_KEY_DELETED: to->deletes++; break;
    case ILK__ETCD_PROGRESS: break;
    case ILK__ETCD_ENDED:
        to->ended++;
        to->status = news->status;
        to->is_gone = news->is_gone;
        snprintf(to->error, sizeof to->error, "%s", news->error);
        break;
    }
    if (news->kv)
        snprintf(to->last_key, sizeof to->last_key, "%.*s",
                 (int)news->kv->key.len, news->kv->key.at);
}

static ilk__etcd_watch *watch(seen *to, const char *key, const char *end)
{
    ilk__etcd_watch_request request = {.key = span(key),
                                       .range_end = span(end)};
    ilk__etcd_watch *made;

    memset(to, 0, sizeof *to);
    assert_int_equal(ilk__etcd_watch_begin(&made, client, &request, 0, see, to),
                     ILK_OK);
    return made;
}

/* ---- transactions ------------------------------------------------------------- */

TEST(a_transaction_takes_a_branch)
{
    ilk__etcd_compare absent = {.target = ILK__ETCD_CREATE_REVISION,
                                .key = span("txn/a")};
    ilk__etcd_op then_ops[] = {put_op("txn/a", "1", 0),
                               range_op("txn/", "txn0")};
    ilk__etcd_op else_op = range_op("txn/a", "");
    ilk__etcd_txn txn = {.compares = &absent,
                         .compare_count = 1,
                         .then_ops = then_ops,
                         .then_count = 2,
                         .else_ops = &else_op,
                         .else_count = 1};
    result got = {.count = 0};

    ilk__etcd_commit(client, &txn, 0, note, &got);
    assert_int_equal(got.count, 0); /* never from within the call */
    await(&got.count, 1);
    assert_int_equal(got.answer.status, ILK_OK);
    assert_true(got.answer.succeeded);
    assert_int_equal(got.answer.op_count, 2);
    assert_int_equal(got.ops[0].kind, ILK__ETCD_PUT);
    assert_int_equal(got.ops[1].kind, ILK__ETCD_RANGE);
    assert_string_equal(got.keys, "txn/a=1 ");
    assert_int_equal(got.create_revision, got.answer.revision);
    assert_true(got.answer.member != 0 && got.answer.sent_at > 0);

    ilk__etcd_commit(client, &txn, 0, note, &got);
    await(&got.count, 2);
    assert_false(got.answer.succeeded);
    assert_int_equal(got.answer.op_count, 1);
    assert_string_equal(got.keys, "txn/a=1 ");
}

static int compare(ilk__etcd_compare compared)
{
    ilk__etcd_txn txn = {.compares = &compared, .compare_count = 1};
    result got = {.count = 0};

    ilk__etcd_commit(client, &txn, 0, note, &got);
    await(&got.count, 1);
    if (got.answer.status)
        fail_msg("%s", got.error);
    return got.answer.succeeded;
}

TEST(each_comparison_holds_and_fails)
{
    int64_t lease = grant(60), first, second;

    first = do_op(put_op("cmp/a", "x", lease))->answer.revision;
    second = do_op(put_op("cmp/a", "y", lease))->answer.revision;
    for (int is_off = 0; is_off < 2; is_off++) {
        ilk__etcd_compare by = {.key = span("cmp/a")};

        by.target = ILK__ETCD_VERSION;
        by.number = 2 + is_off;
        assert_int_equal(compare(by), !is_off);
        by.target = ILK__ETCD_CREATE_REVISION;
        by.number = first + is_off;
        assert_int_equal(compare(by), !is_off);
        by.target = ILK__ETCD_MOD_REVISION;
        by.number = second + is_off;
        assert_int_equal(compare(by), !is_off);
        by.target = ILK__ETCD_LEASE;
        by.number = lease + is_off;
        assert_int_equal(compare(by), !is_off);
        by.target = ILK__ETCD_VALUE;
        by.value = span(is_off ? "x" : "y");
        assert_int_equal(compare(by), !is_off);
        by.relation = ILK__ETCD_NOT_EQUAL;
        assert_int_equal(compare(by), is_off);
    }
    assert_int_equal(
        compare((ilk__etcd_compare){.target = ILK__ETCD_CREATE_REVISION,
                                    .relation = ILK__ETCD_GREATER,
                                    .key = span("cmp/"),
                                    .range_end = span("cmp0"),
                                    .number = first - 1}),
        1);
    assert_int_equal(
        compare((ilk__etcd_compare){.target = ILK__ETCD_CREATE_REVISION,
                                    .relation = ILK__ETCD_LESS,
                                    .key = span("cmp/"),
                                    .range_end = span("cmp0"),
                                    .number = first}),
        0);
}

TEST(ranges_are_sorted_limited_and_bounded)
{
    ilk__etcd_op op = range_op("sort/", "sort0");
    int64_t second;
    result *got;

    do_op(put_op("sort/c", "1", 0));
    second = do_op(put_op("sort/a", "2", 0))->answer.revision;
    do_op(put_op("sort/b", "3", 0));
    assert_string_equal(do_op(op)->keys, "sort/a=2 sort/b=3 sort/c=1 ");
    op.order = ILK__ETCD_BY_CREATE_REVISION;
    assert_string_equal(do_op(op)->keys, "sort/c=1 sort/a=2 sort/b=3 ");
    op.limit = 2;
    got = do_op(op);
    assert_string_equal(got->keys, "sort/c=1 sort/a=2 ");
    assert_true(got->ops[0].more);
    assert_int_equal(got->ops[0].count, 3);
    op.order = ILK__ETCD_BY_CREATE_REVISION_DESCENDING;
    op.limit = 1;
    assert_string_equal(do_op(op)->keys, "sort/b=3 ");
    op.limit = 0;
    op.max_create_revision = second;
    op.keys_only = 1;
    assert_string_equal(do_op(op)->keys, "sort/a= sort/c= ");
    op.max_create_revision = 0;
    op.min_create_revision = second;
    assert_string_equal(do_op(op)->keys, "sort/b= sort/a= ");
    op = range_op("sort/", "sort0");
    op.count_only = 1;
    got = do_op(op);
    assert_int_equal(got->ops[0].count, 3);
    assert_int_equal(got->ops[0].kv_count, 0);
}

TEST(keys_are_deleted_and_the_former_ones_known)
{
    ilk__etcd_op op = delete_op("del/", "del0");
    result *got;

    do_op(put_op("del/a", "1", 0));
    do_op(put_op("del/b", "2", 0));
    op.with_previous = 1;
    got = do_op(op);
    assert_int_equal(got->ops[0].kind, ILK__ETCD_DELETE);
    assert_int_equal(got->ops[0].count, 2);
    assert_string_equal(got->keys, "del/a=1 del/b=2 ");
    assert_int_equal(do_op(op)->ops[0].count, 0);
    op = put_op("del/a", "3", 0);
    op.with_previous = 1;
    assert_int_equal(do_op(op)->ops[0].kv_count, 0);
    op.value = span("4");
    assert_string_equal(do_op(op)->keys, "del/a=3 ");
}

TEST(a_value_of_megabytes_comes_and_one_too_long_does_not)
{
    enum { PART = 1 << 20, PARTS = 9 };
    char *value = malloc(PART + 1), key[32];
    ilk__etcd_op op;
    result got;

    memset(value, 'v', PART);
    value[PART] = '\0';
    for (int i = 0; i < PARTS; i++) {
        snprintf(key, sizeof key, "big/%d", i);
        do_op(put_op(key, value, 0));
    }
    op = range_op("big/", "big3"); /* before "big/" ends: nothing */
    op.range_end = span("big/5");
    begin_ops(&got, &op, 1, 0);
    await(&got.count, 1);
    assert_int_equal(got.answer.status, ILK_OK);
    assert_int_equal(got.ops[0].kv_count, 5);
    op.range_end = span("big0");
    begin_ops(&got, &op, 1, 0);
    await(&got.count, 1);
    expect_error(&got, ILK_EREPLY, "ERR etcd's answer has ");
    assert_int_equal(do_op(delete_op("big/", "big0"))->ops[0].count, PARTS);
    /* More than the server takes; then more than is sent. */
    value = realloc(value, 9 * PART + 1);
    memset(value, 'v', 9 * PART);
    value[7 * PART / 4] = '\0';
    op = put_op("big/x", value, 0);
    begin_ops(&got, &op, 1, 0);
    await(&got.count, 1);
    expect_error(&got, ILK_ESERVER, "request is too large");
    assert_false(got.answer.may_have_run);
    value[7 * PART / 4] = 'v';
    value[9 * PART] = '\0';
    op = put_op("big/x", value, 0);
    assert_int_equal(
        ilk__etcd_commit(client,
                         &(ilk__etcd_txn){.then_ops = &op, .then_count = 1}, 0,
                         note, &got),
        ILK_EINVAL);
    free(value);
}

TEST(a_thousand_calls_at_once)
{
    enum { CALLS = 1000 };
    static result got[CALLS];
    char key[32];

    for (int i = 0; i < CALLS; i++) {
        ilk__etcd_op op;

        snprintf(key, sizeof key, "many/%04d", i);
        op = put_op(key, key, 0);
        begin_ops(&got[i], &op, 1, PATIENCE_MS);
    }
    for (int i = 0; i < CALLS; i++) {
        await(&got[i].count, 1);
        if (got[i].answer.status)
            fail_msg("%s", got[i].error);
    }
    run_for(50);
    for (int i = 0; i < CALLS; i++)
        assert_int_equal(got[i].count, 1);
    assert_int_equal(do_op(range_op("many/", "many0"))->ops[0].count, CALLS);
}

TEST(the_server_says_its_version_and_leader)
{
    result got = {.count = 0};

    ilk__etcd_ask_status(client, 0, note, &got);
    await(&got.count, 1);
    assert_int_equal(got.answer.status, ILK_OK);
    assert_true(got.answer.leader != 0);
    assert_true(got.answer.leader == got.answer.member);
    assert_true(got.version[0] == '3' && got.version[1] == '.');
}

/* ---- leases --------------------------------------------------------------------- */

TEST(a_lease_expires_with_its_keys)
{
    int64_t lease = grant(1);
    ilk__etcd_watch *made;
    result got = {.count = 0};
    seen events;

    do_op(put_op("lease/a", "1", lease));
    made = watch(&events, "lease/a", "");
    await(&events.created, 1);
    await(&events.deletes, 1);
    assert_int_equal(events.puts, 0);
    ilk__etcd_watch_cancel(made);

    ilk__etcd_keep_alive(client, lease, 0, note, &got);
    await(&got.count, 1);
    assert_int_equal(got.answer.status, ILK_OK);
    assert_true(got.answer.ttl_s <= 0);
    ilk__etcd_time_to_live(client, lease, 0, note, &got);
    await(&got.count, 2);
    assert_int_equal(got.answer.status, ILK_OK);
    assert_true(got.answer.ttl_s <= 0);
    ilk__etcd_revoke(client, lease, 0, note, &got);
    await(&got.count, 3);
    expect_error(&got, ILK_ESERVER, "ERR etcd at ");
    assert_true(got.answer.is_gone);
    assert_false(got.answer.may_have_run);
}

TEST(a_lease_that_is_kept_alive_stays)
{
    int64_t lease = grant(2), other = grant(60), deadline = ilk__deadline(5000),
            count = 0;
    result same[3] = {{.count = 0}}, got = {.count = 0};

    do_op(put_op("keep/a", "1", lease));
    while (ilk__now_ms() < deadline) {
        ilk__etcd_status before, after;

        ilk__etcd_get_status(client, &before);
        for (int i = 0; i < 3; i++)
            ilk__etcd_keep_alive(client, i == 1 ? other : lease, 0, note,
                                 &same[i]);
        count++;
        for (int i = 0; i < 3; i++) {
            await(&same[i].count, (int)count);
            assert_int_equal(same[i].answer.status, ILK_OK);
            assert_true(same[i].answer.lease == (i == 1 ? other : lease));
            assert_true(same[i].answer.ttl_s >= 1);
        }
        ilk__etcd_get_status(client, &after);
        assert_true(after.bytes_out > before.bytes_out);
        run_for(300);
    }
    assert_int_equal(do_op(range_op("keep/a", ""))->ops[0].count, 1);
    ilk__etcd_time_to_live(client, other, 0, note, &got);
    await(&got.count, 1);
    assert_int_equal(got.answer.granted_ttl_s, 60);
    ilk__etcd_revoke(client, lease, 0, note, &got);
    await(&got.count, 2);
    assert_int_equal(got.answer.status, ILK_OK);
    assert_int_equal(do_op(range_op("keep/a", ""))->ops[0].count, 0);
}

/* ---- watches -------------------------------------------------------------------- */

TEST(a_watch_begins_now_and_sees_the_delete)
{
    int64_t revision = do_op(put_op("watch/a", "1", 0))->answer.revision;
    seen events, others;
    ilk__etcd_watch *made = watch(&events, "watch/a", ""),
                    *all = watch(&others, "watch/", "watch0");

    await(&events.created, 1);
    await(&others.created, 1);
    assert_true(events.revision >= revision);
    do_op(delete_op("watch/a", ""));
    do_op(put_op("watch/b", "1", 0));
    await(&events.deletes, 1);
    assert_string_equal(events.last_key, "watch/a");
    await(&others.puts, 1);
    assert_int_equal(others.deletes, 1);
    assert_string_equal(others.last_key, "watch/b");
    assert_int_equal(events.puts, 0);

    ilk__etcd_watch_cancel(made);
    do_op(put_op("watch/a", "2", 0));
    await(&others.puts, 2);
    run_for(50);
    assert_int_equal(events.puts, 0);
    assert_int_equal(events.ended, 0);
    ilk__etcd_watch_cancel(all);
}

TEST(filters_leave_events_out)
{
    ilk__etcd_watch_request request = {.key = span("filter/a"),
                                       .without_puts = 1};
    ilk__etcd_watch *made;
    seen events = {.ended = 0};

    ilk__etcd_watch_begin(&made, client, &request, 0, see, &events);
    await(&events.created, 1);
    do_op(put_op("filter/a", "1", 0));
    do_op(delete_op("filter/a", ""));
    await(&events.deletes, 1);
    assert_int_equal(events.puts, 0);
    ilk__etcd_watch_cancel(made);
}

TEST(a_compacted_revision_ends_a_watch)
{
    ilk__etcd_watch_request request = {.key = span("old/a"),
                                       .start_revision = 2};
    ilk__etcd_watch *made;
    seen events = {.ended = 0};
    char command[64];
    int64_t revision;

    do_op(put_op("old/a", "1", 0));
    revision = do_op(put_op("old/a", "2", 0))->answer.revision;
    snprintf(command, sizeof command, "compact %lld", (long long)revision);
    if (etcd_server_ctl(&server, command))
        skip_because("etcdctl cannot compact");
    ilk__etcd_watch_begin(&made, client, &request, 0, see, &events);
    await(&events.ended, 1);
    assert_true(events.is_gone);
    assert_true(events.revision == revision);
    assert_int_equal(events.status, ILK_ESERVER);
}

/* From its own callback. */
static ilk__etcd_watch *self_ending;

static void cancel_self(void *owner, const ilk__etcd_news *news)
{
    int *count = owner;

    if (news->kind == ILK__ETCD_KEY_PUT) {
        ++*count;
        ilk__etcd_watch_cancel(self_ending);
    }
}

TEST(a_callback_cancels_its_watch)
{
    ilk__etcd_watch_request request = {.key = span("self/"),
                                       .range_end = span("self0")};
    ilk__etcd_op ops[] = {put_op("self/a", "1", 0), put_op("self/b", "1", 0)};
    int count = 0;
    result got;

    ilk__etcd_watch_begin(&self_ending, client, &request, 0, cancel_self,
                          &count);
    run_for(200);
    begin_ops(&got, ops, 2, 0);
    await(&got.count, 1);
    await(&count, 1);
    run_for(50);
    assert_int_equal(count, 1);
}

/* A call that fails, because the connection is lost, cancels a watch that was sent
 * there. */
static void cancel_watch(void *owner, const ilk__etcd_answer *answer)
{
    result *to = owner;

    note(to, answer);
    ilk__etcd_watch_cancel(self_ending);
}

static void works_again(void)
{
    const int64_t deadline = ilk__deadline(PATIENCE_MS);
    ilk__etcd_op op = put_op("memory/a", "1", 0);
    result got = {.count = 0};

    while (ilk__now_ms() < deadline) {
        begin_ops(&got, &op, 1, 0);
        await(&got.count, 1);
        if (got.answer.status == ILK_OK)
            return;
        run_for(10);
    }
    fail_msg("%s", got.error);
}

TEST(a_failed_call_cancels_a_watch)
{
    const ilk__etcd_op op = put_op("failed/a", "1", 0);
    const ilk__etcd_txn txn = {.then_ops = &op, .then_count = 1};
    result in_flight = {.count = 0};
    seen events;

    self_ending = watch(&events, "failed/a", "");
    await(&events.created, 1);
    etcd_server_pause(&server);
    assert_int_equal(
        ilk__etcd_commit(client, &txn, PATIENCE_MS, cancel_watch, &in_flight),
        ILK_OK);
    run_for(100);
    assert_int_equal(etcd_server_kill(&server), 0);
    await(&in_flight.count, 1);
    assert_int_equal(etcd_server_restart(&server), 0);
    run_for(50);
    assert_int_equal(events.ended, 0);
    works_again();
}

/* ---- a server that is away -------------------------------------------------------- */

TEST(a_killed_server_fails_calls_and_comes_back)
{
    ilk__etcd_op op = put_op("killed/a", "1", 0);
    ilk__etcd_watch *made;
    result in_flight, later;
    seen events;
    int64_t lease = grant(60);

    do_op(op);
    made = watch(&events, "killed/a", "");
    await(&events.created, 1);
    (void)made;
    etcd_server_pause(&server);
    begin_ops(&in_flight, &op, 1, PATIENCE_MS);
    run_for(100);
    assert_int_equal(in_flight.count, 0);
    assert_int_equal(etcd_server_kill(&server), 0);
    await(&in_flight.count, 1);
    expect_error(&in_flight, ILK_ECONN, "ILKDOWN ");
    assert_true(in_flight.answer.may_have_run);
    await(&events.ended, 1);
    assert_int_equal(events.status, ILK_ECONN);
    begin_ops(&later, &op, 1, 0);
    await(&later.count, 1);
    expect_error(&later, ILK_ECONN, "ILKDOWN cannot connect to 127.0.0.1:");
    assert_false(later.answer.may_have_run);

    assert_int_equal(etcd_server_restart(&server), 0);
    for (int i = 0; i < 200; i++) {
        begin_ops(&later, &op, 1, 0);
        await(&later.count, 1);
        if (later.answer.status == ILK_OK)
            break;
        run_for(50);
    }
    assert_int_equal(later.answer.status, ILK_OK);
    ilk__etcd_keep_alive(client, lease, 0, note, &later);
    await(&later.count, 2);
    assert_true(later.answer.status == ILK_OK && later.answer.ttl_s > 0);
    assert_int_equal(in_flight.count, 1);
}

TEST_WITH(NULL, close_client, a_frozen_server_is_left_at_the_deadline)
{
    ilk__etcd_op op = put_op("frozen/a", "1", 0);
    ilk__etcd_status status;
    result got, kept = {.count = 0};
    int64_t lease, began;

    open_at("", here(), "reply_timeout_ms=600");
    lease = grant(60);
    do_op(op);
    etcd_server_pause(&server);
    began = ilk__now_ms();
    begin_ops(&got, &op, 1, 300);
    ilk__etcd_keep_alive(client, lease, 300, note, &kept);
    await(&got.count, 1);
    await(&kept.count, 1);
    assert_true(ilk__now_ms() - began >= 299);
    assert_true(ilk__now_ms() - began < 2000);
    expect_error(&got, ILK_ECONN, "ILKDOWN no answer from etcd at 127.0.0.1:");
    assert_true(got.answer.may_have_run);
    expect_error(&kept, ILK_ECONN, "ILKDOWN ");
    begin_ops(&got, &op, 1, 700);
    await(&got.count, 1);
    expect_error(&got, ILK_ECONN, "ILKDOWN ");
    run_for(50);
    ilk__etcd_get_status(client, &status);
    assert_false(status.up);
    etcd_server_resume(&server);
    for (int i = 0; i < 200 && got.answer.status; i++) {
        begin_ops(&got, &op, 1, 0);
        await(&got.count, 1);
        run_for(20);
    }
    assert_int_equal(got.answer.status, ILK_OK);
}

TEST_WITH(NULL, close_client, an_idle_watch_notices_a_frozen_server)
{
    seen events;

    open_at("", here(), "reply_timeout_ms=500");
    watch(&events, "idle/a", "");
    await(&events.created, 1);
    etcd_server_pause(&server);
    await(&events.ended, 1);
    etcd_server_resume(&server);
    assert_int_equal(events.status, ILK_ECONN);
    assert_non_null(strstr(events.error, "is silent"));
}

TEST_WITH(NULL, close_client, one_of_two_endpoints_is_dead)
{
    char hosts[64];
    peer gone;

    assert_int_equal(peer_open(&gone), 0);
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d,%s", gone.port, here());
    peer_close(&gone);
    open_at("", hosts, "");
    assert_int_equal(do_op(put_op("two/a", "1", 0))->answer.status, ILK_OK);
}

/* The other accepts, and never says anything. */
TEST_WITH(NULL, close_client, one_of_two_endpoints_is_silent)
{
    char hosts[64];
    peer silent;

    assert_int_equal(peer_open(&silent), 0);
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d,%s", silent.port, here());
    open_at("", hosts, "connect_timeout_ms=300");
    assert_int_equal(do_op(put_op("two/b", "1", 0))->answer.status, ILK_OK);
    peer_close(&silent);
}

/* Of two members one is no majority. */
TEST_WITH(NULL, close_client, a_member_without_a_leader_says_so)
{
    ilk__etcd_op op = put_op("pair/a", "1", 0);
    etcd_server one, other;
    char hosts[64];
    result got, kept = {.count = 0};
    int64_t lease;
    seen events;

    assert_int_equal(etcd_server_start_pair(&one, &other), 0);
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d", one.port);
    open_at("", hosts, "");
    for (int i = 0; i < 100; i++) {
        begin_ops(&got, &op, 1, 0);
        await(&got.count, 1);
        if (got.answer.status == ILK_OK)
            break;
        run_for(100);
    }
    assert_int_equal(got.answer.status, ILK_OK);
    lease = grant(60);
    watch(&events, "pair/a", "");
    await(&events.created, 1);
    etcd_server_kill(&other);
    await(&events.ended, 1);
    assert_int_equal(events.status, ILK_ENOQUORUM);
    assert_non_null(strstr(events.error, "NOQUORUM "));
    begin_ops(&got, &op, 1, 0);
    await(&got.count, 1);
    expect_error(&got, ILK_ENOQUORUM, "NOQUORUM ");
    assert_false(got.answer.may_have_run);
    ilk__etcd_keep_alive(client, lease, 0, note, &kept);
    await(&kept.count, 1);
    expect_error(&kept, ILK_ENOQUORUM, "NOQUORUM ");

    assert_int_equal(etcd_server_restart(&other), 0);
    for (int i = 0; i < 100 && got.answer.status; i++) {
        run_for(100);
        begin_ops(&got, &op, 1, 0);
        await(&got.count, 1);
    }
    assert_int_equal(got.answer.status, ILK_OK);
    etcd_server_stop(&one);
    etcd_server_stop(&other);
}

TEST_WITH(NULL, close_client, a_frozen_member_is_left_for_another)
{
    ilk__etcd_op op = range_op("pair/a", "");
    etcd_server one, other;
    ilk__etcd_status status;
    char hosts[64];
    int64_t began;
    result got;

    assert_int_equal(etcd_server_start(&one, NULL), 0);
    assert_int_equal(etcd_server_start(&other, NULL), 0);
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d,127.0.0.1:%d", one.port,
             other.port);
    open_at("", hosts, "");
    do_op(op);
    etcd_server_pause(&one);
    began = ilk__now_ms();
    begin_ops(&got, &op, 1, 4000);
    await(&got.count, 1);
    assert_int_equal(got.answer.status, ILK_OK); /* a read may be repeated */
    assert_true(ilk__now_ms() - began < 4000);
    ilk__etcd_get_status(client, &status);
    assert_true(status.up);
    assert_int_equal(status.endpoint_index, 1);
    etcd_server_stop(&one);
    etcd_server_stop(&other);
}

/* A write is repeated only where its caller says so. */
TEST_WITH(NULL, close_client, a_frozen_member_may_keep_a_write)
{
    ilk__etcd_op op = put_op("pair/a", "1", 0);
    ilk__etcd_txn again = {.then_ops = &op, .then_count = 1, .may_repeat = 1};
    etcd_server one, other;
    char hosts[64];
    result once, got = {.count = 0};

    assert_int_equal(etcd_server_start(&one, NULL), 0);
    assert_int_equal(etcd_server_start(&other, NULL), 0);
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d,127.0.0.1:%d", one.port,
             other.port);
    open_at("", hosts, "");
    do_op(op);
    etcd_server_pause(&one);
    begin_ops(&once, &op, 1, 4000);
    assert_int_equal(ilk__etcd_commit(client, &again, 4000, note, &got),
                     ILK_OK);
    await(&once.count, 1);
    await(&got.count, 1);
    expect_error(&once, ILK_ECONN, "is silent");
    assert_true(once.answer.may_have_run);
    assert_false(once.answer.was_repeated);
    assert_int_equal(got.answer.status, ILK_OK);
    assert_true(got.answer.was_repeated);
    etcd_server_stop(&one);
    etcd_server_stop(&other);
}

/* Two of three streams are those of watches and renewals. At its end the server wants
 * no new calls, and the client leaves it. */
TEST_WITH(NULL, close_client,
          few_streams_are_enough_and_an_orderly_end_is_noticed)
{
    enum { CALLS = 100 };
    static result got[CALLS];
    result kept = {.count = 0};
    ilk__etcd_op op = put_op("few/a", "1", 0);
    ilk__etcd_status status;
    etcd_server few;
    char hosts[64];
    seen events;

    assert_int_equal(etcd_server_start(&few, "--max-concurrent-streams 3"), 0);
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d", few.port);
    open_at("", hosts, "");
    watch(&events, "few/a", "");
    ilk__etcd_keep_alive(client, 7, 0, note, &kept);
    for (int i = 0; i < CALLS; i++)
        begin_ops(&got[i], &op, 1, PATIENCE_MS);
    for (int i = 0; i < CALLS; i++) {
        await(&got[i].count, 1);
        if (got[i].answer.status)
            fail_msg("%s", got[i].error);
    }
    await(&kept.count, 1);
    await(&events.puts, 1);
    ilk__etcd_get_status(client, &status);
    assert_int_equal(status.connects, 1);
    kill(few.pid, SIGTERM);
    await(&events.ended, 1);
    assert_int_equal(events.status, ILK_ECONN);
    etcd_server_stop(&few);
}

TEST_WITH(NULL, close_client, closing_fails_calls_and_watches)
{
    ilk__etcd_op op = put_op("close/a", "1", 0);
    result got, kept = {.count = 0};
    seen events;

    open_at("", here(), "");
    begin_ops(&got, &op, 1, 0);
    ilk__etcd_keep_alive(client, 1, 0, note, &kept);
    watch(&events, "close/a", "");
    close_client();
    assert_int_equal(got.count, 1);
    assert_int_equal(kept.count, 1);
    assert_int_equal(events.ended, 1);
    expect_error(&got, ILK_ECONN, "is closed");
    assert_false(got.answer.may_have_run);
}

/* ---- without memory ----------------------------------------------------------------- */

typedef struct scene {
    int expected, ended; /* callbacks */
    result calls[5];
    seen events;
} scene;

static void begin_scene(scene *now)
{
    ilk__etcd_op op = put_op("memory/a", "1", 0),
                 range = range_op("memory/", "memory0");
    ilk__etcd_txn put = {.then_ops = &op, .then_count = 1},
                  get = {.then_ops = &range, .then_count = 1};
    ilk__etcd_watch_request request = {.key = span("memory/a")};
    ilk__etcd_watch *made;
    int i = 0;

    i += !ilk__etcd_commit(client, &put, 0, note, &now->calls[i]);
    i += !ilk__etcd_commit(client, &get, 0, note, &now->calls[i]);
    i += !ilk__etcd_grant(client, 0, 1, 0, note, &now->calls[i]);
    i += !ilk__etcd_keep_alive(client, 7, 0, note, &now->calls[i]);
    i += !ilk__etcd_ask_status(client, 0, note, &now->calls[i]);
    now->expected = i;
    if (ilk__etcd_watch_begin(&made, client, &request, 0, see, &now->events))
        now->events.ended = 1;
}

static int has_ended(const scene *now)
{
    for (int i = 0; i < now->expected; i++)
        if (!now->calls[i].count)
            return 0;
    return now->events.created || now->events.ended;
}

/* The allocation `number` and all that follow fail for a while. Returns whether there
 * were as many. */
static int run_scene(long number)
{
    scene now;
    char text[64];
    ilk_error err;
    int64_t until;
    int reached;

    memset(&now, 0, sizeof now);
    snprintf(text, sizeof text, "etcd://%s", here());
    ilk__alloc_fail_at(number);
    if (open_client(text, &err) == ILK_OK) {
        begin_scene(&now);
        until = ilk__deadline(PATIENCE_MS);
        while (!has_ended(&now) && ilk__now_ms() < until) {
            /* From the first failure on it is given this time. */
            if (ilk__alloc_count() >= number)
                until = ilk__sooner(until, ilk__deadline(25));
            turn(until);
        }
    } else {
        assert_int_equal(err.code, ILK_ENOMEM);
    }
    reached = ilk__alloc_count() >= number;
    ilk__alloc_fail_at(0);
    if (!client)
        return reached;
    until = ilk__deadline(PATIENCE_MS);
    while (!has_ended(&now) && ilk__now_ms() < until)
        turn(until);
    assert_true(has_ended(&now));
    works_again();
    close_client();
    for (int i = 0; i < now.expected; i++)
        assert_int_equal(now.calls[i].count, 1);
    return reached;
}

TEST_WITH(NULL, close_client, every_call_ends_without_memory)
{
    long number = 1;

    while (run_scene(number))
        number++;
    assert_in_range(number, 50, 5000);
}

/* ---- servers that are no etcd ------------------------------------------------------ */

static void expect_peer_error(const char *const *says, const char *text)
{
    ilk__etcd_op op = put_op("peer/a", "1", 0);
    char hosts[32];
    result got;
    peer other;

    assert_int_equal(peer_open(&other), 0);
    assert_int_equal(peer_serve(&other, says), 0);
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d", other.port);
    open_at("", hosts, "connect_timeout_ms=500");
    begin_ops(&got, &op, 1, 0);
    await(&got.count, 1);
    close_client();
    peer_close(&other);
    expect_error(&got, ILK_ECONN, text);
    assert_false(got.answer.may_have_run);
}

TEST_WITH(NULL, close_client, servers_that_are_no_etcd_are_named)
{
    static const char
        *const http[] = {"HTTP/1.1 400 Bad Request\r\n\r\n", "", NULL},
               *const garbage[] = {"-ERR unknown command 'PRI'\r\n", "", NULL},
               *const alert[] = {"\x15\x03\x01", "", NULL},
               *const closes[] = {"", NULL};

    expect_peer_error(http, "speaks HTTP/1");
    expect_peer_error(garbage, "does not speak HTTP/2");
    expect_peer_error(alert, "expects TLS: write etcd+tls://");
    expect_peer_error(closes, "closed the connection before");
}

TEST_WITH(NULL, close_client, urls_are_checked)
{
    ilk_error err;

    assert_int_equal(open_client("etcd://a:99999", &err), ILK_EINVAL);
    assert_int_equal(open_client("etcd://a:1,,b:2", &err), ILK_EINVAL);
    assert_int_equal(open_client("etcd://a?nonsense=1", &err), ILK_EINVAL);
    assert_int_equal(open_client("etcd://a?ca=/nowhere", &err), ILK_EINVAL);
    assert_int_equal(open_client("etcd://:secret@a", &err), ILK_EINVAL);
    assert_null(strstr(err.msg, "secret"));
    assert_int_equal(open_client("etcd://a?protocol=3", &err), ILK_EINVAL);
}

/* ---- login -------------------------------------------------------------------------- */

static etcd_server guarded;

static int start_guarded(void)
{
    if (etcd_server_start(&guarded, "--auth-token-ttl 2"))
        return -1;
    if (etcd_server_ctl(&guarded, "user add root:secret")
        || etcd_server_ctl(&guarded, "user grant-role root root")
        || etcd_server_ctl(&guarded, "user add some:pw")
        || etcd_server_ctl(&guarded, "role add little")
        || etcd_server_ctl(&guarded,
                           "role grant-permission little readwrite mine/ "
                           "--prefix=true")
        || etcd_server_ctl(&guarded, "user grant-role some little")
        || etcd_server_ctl(&guarded, "auth enable"))
        return -1;
    return 0;
}

static int stop_guarded(void)
{
    close_client();
    etcd_server_stop(&guarded);
    return 0;
}

static void open_guarded(const char *login)
{
    char hosts[32];

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d", guarded.port);
    open_at(login, hosts, "");
}

TEST_WITH(start_guarded, stop_guarded, a_login_opens_the_door)
{
    ilk__etcd_op op = put_op("mine/a", "1", 0), foreign = put_op("a", "1", 0);
    seen events;
    result got;

    open_guarded("some:pw@");
    do_op(op);
    begin_ops(&got, &foreign, 1, 0);
    await(&got.count, 1);
    expect_error(&got, ILK_EAUTH, "DENIED ");
    assert_false(got.answer.may_have_run);
    watch(&events, "a", "");
    await(&events.ended, 1);
    assert_int_equal(events.status, ILK_EAUTH);
    close_client();

    open_guarded("some:wrong@");
    begin_ops(&got, &op, 1, 0);
    await(&got.count, 1);
    expect_error(&got, ILK_EAUTH, "DENIED ");
    assert_null(strstr(got.error, "wrong"));
    close_client();

    open_guarded("");
    begin_ops(&got, &op, 1, 0);
    await(&got.count, 1);
    expect_error(&got, ILK_EAUTH, "user name is empty");
}

/* A token without use expires. A watch and a call log in again, on the same
 * connection; a watch that was begun before goes on. */
TEST_WITH(start_guarded, stop_guarded, an_expired_token_is_renewed)
{
    ilk__etcd_status before, after;
    seen first, second;

    close_client();
    open_guarded("some:pw@");
    do_op(put_op("mine/a", "1", 0));
    ilk__etcd_get_status(client, &before);
    watch(&first, "mine/", "mine0");
    await(&first.created, 1);
    run_for(5000);
    watch(&second, "mine/b", "");
    await(&second.created, 1);
    do_op(put_op("mine/b", "2", 0));
    await(&second.puts, 1);
    await(&first.puts, 1);
    run_for(5000);
    do_op(put_op("mine/b", "3", 0));
    await(&second.puts, 2);
    ilk__etcd_get_status(client, &after);
    assert_int_equal(after.connects, before.connects);
    assert_true(after.logins >= before.logins + 2);
    assert_int_equal(first.ended + second.ended, 0);
    close_client(); /* its watches report here */
    assert_int_equal(first.ended + second.ended, 2);
}

/* ---- TLS ------------------------------------------------------------------------------ */

TEST_WITH(NULL, close_client, tls_checks_the_name)
{
    ilk__etcd_op op = put_op("tls/a", "1", 0);
    char extra[256], text[256];
    etcd_server sealed;
    result got;
    certs made;
    ilk_error err;

    if (certs_make(&made))
        skip_because("there is no openssl command");
    snprintf(extra, sizeof extra,
             "--cert-file %s/server.crt --key-file %s/server.key", made.dir,
             made.dir);
    assert_int_equal(etcd_server_start(&sealed, extra), 0);
    snprintf(text, sizeof text, "etcd+tls://127.0.0.1:%d?ca=%s/ca.crt",
             sealed.port, made.dir);
    assert_int_equal(open_client(text, &err), ILK_OK);
    do_op(op);
    close_client();
    snprintf(text, sizeof text, "etcd+tls://127.0.0.1:%d?ca=%s/other.crt",
             sealed.port, made.dir);
    assert_int_equal(open_client(text, &err), ILK_OK);
    begin_ops(&got, &op, 1, 0);
    await(&got.count, 1);
    expect_error(&got, ILK_ECONN, "certificate");
    close_client();
    /* Plain to a port with TLS; TLS to a plain port. */
    snprintf(text, sizeof text, "etcd://127.0.0.1:%d", sealed.port);
    assert_int_equal(open_client(text, &err), ILK_OK);
    begin_ops(&got, &op, 1, 0);
    await(&got.count, 1);
    expect_error(&got, ILK_ECONN, "etcd+tls://");
    close_client();
    snprintf(text, sizeof text, "etcd+tls://%s?ca=%s/ca.crt", here(), made.dir);
    assert_int_equal(open_client(text, &err), ILK_OK);
    begin_ops(&got, &op, 1, 0);
    await(&got.count, 1);
    expect_error(&got, ILK_ECONN, "ILKDOWN ");
    close_client();
    etcd_server_stop(&sealed);
    /* The right authority, for another name. */
    snprintf(extra, sizeof extra,
             "--cert-file %s/elsewhere.crt --key-file %s/elsewhere.key",
             made.dir, made.dir);
    assert_int_equal(etcd_server_start(&sealed, extra), 0);
    snprintf(text, sizeof text, "etcd+tls://127.0.0.1:%d?ca=%s/ca.crt",
             sealed.port, made.dir);
    assert_int_equal(open_client(text, &err), ILK_OK);
    begin_ops(&got, &op, 1, 0);
    await(&got.count, 1);
    expect_error(&got, ILK_ECONN, "certificate");
    close_client();
    etcd_server_stop(&sealed);
    certs_remove(&made);
}
