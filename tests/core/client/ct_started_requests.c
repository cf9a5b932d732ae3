/* SPDX-License-Identifier: MIT */
/*
 * ct_started_requests.c -- every scenario of a started request, with every
 * request that can be started (started_request.c). All rows are under way at
 * the same time in one event loop.
 */
#include "fork_case.h"
#include "proxy_case.h"
#include "started_request.h"
#include "started_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

AROUND_ALL(proxy_setup, proxy_teardown);
AROUND_EACH(rows_setup, rows_teardown);

enum { ROWS = 80, CONNECTING_TURNS = 4 };

static request all[ROWS];
static ilk_error err;

#define EACH(r)                                                                \
    request *r = all;                                                          \
    (size_t)(r - all) < request_row_count && (row_name = r->row->name);        \
    r++

/* ---- one row ------------------------------------------------------------ */

static int is(const request *r, int trait)
{
    return (r->row->traits & trait) != 0;
}

static void open_one(request *r, ilk_client *of)
{
    r->client = of;
    r->handle = r->second = NULL;
    r->op = r->wait = NULL;
    snprintf(r->data, sizeof r->data, "data");
    r->row->open(r);
}

static void free_handle(request *r)
{
    if (!is(r, REQUEST_BY_NAME))
        r->row->free(r->handle);
    r->handle = NULL;
}

static void close_one(request *r)
{
    if (r->handle)
        free_handle(r);
    ilk_op_free(r->wait);
    if (r->second)
        r->free_second(r->second);
}

/* With name and data that are the caller's again. */
static ilk_status try_to_start(ilk_op **out, const request *r)
{
    char *name = strdup(r->name), *data = strdup(r->data);
    ilk_status st;

    assert_non_null(name);
    assert_non_null(data);
    st = r->row->start(out, r->handle, name, data, &err);
    memset(name, '?', strlen(name));
    memset(data, '?', strlen(data));
    free(name);
    free(data);
    return st;
}

static void start(request *r)
{
    assert_status(ILK_OK, try_to_start(&r->op, r));
    assert_non_null(r->op);
}

/* The server has executed it. */
static void await_effect(const request *r)
{
    if (r->row->effect)
        turn_until(r->client, r->row->effect_answer, "%s",
                   filled(r->row->effect, r->name));
}

/* Nobody wants its reply any more, but it was sent before. */
static void await_sent(const request *r)
{
    if (is(r, REQUEST_REGISTERS))
        turn_until(r->client, "0", "%s", filled(r->row->effect, r->name));
    else
        await_effect(r);
}

static void assert_succeeds(request *r)
{
    assert_ended(ILK_OK, r->client, r->op);
    assert_result(r->row->result, r->op);
    assert_int_equal(r->row->number, ilk_op_number(r->op));
    assert_status(ILK_OK, ilk_op_status(r->op, &err));
    ilk_op_free(r->op);
    if (r->row->effect)
        assert_string_equal(
            r->row->effect_answer,
            fixture_command(&fx, "%s", filled(r->row->effect, r->name)));
}

/* ---- all rows ----------------------------------------------------------- */

static void open_all(ilk_client *of)
{
    assert_in_range(request_row_count, 1, ROWS);
    for (size_t i = 0; i < request_row_count; i++) {
        all[i] = (request){.row = &request_rows[i]};
        snprintf(all[i].name, sizeof all[i].name, "n%zu.", i);
    }
    for (EACH(r))
        open_one(r, of);
}

static void start_all(void)
{
    for (EACH(r))
        start(r);
}

static void close_all(void)
{
    for (EACH(r))
        close_one(r);
}

/* ---- to the end --------------------------------------------------------- */

/* The server does not know the scripts, so that each command is sent twice,
 * the second time when the caller's arguments are gone. */
TEST(a_request_does_its_work_and_has_its_result)
{
    open_all(client);
    fixture_command(&fx, "SCRIPT FLUSH");
    for (EACH(r)) {
        start(r);
        assert_true(ilk_op_id(r->op) > 0);
        if (!is(r, REQUEST_IS_LOCAL))
            assert_status(ILK_EAGAIN, ilk_op_status(r->op, &err));
        assert_result(RESULT_NONE, r->op);
    }

    for (EACH(r))
        assert_succeeds(r);
    close_all();
}

TEST(neither_cancel_nor_interrupt_stops_a_request)
{
    open_all(client);
    start_all();

    for (EACH(r))
        assert_status(ILK_OK, ilk_op_cancel(r->op, &err));
    ilk_client_interrupt(client);

    for (EACH(r))
        if (is(r, REQUEST_REGISTERS))
            assert_ends(ILK_ECANCELLED, client, r->op);
        else
            assert_succeeds(r);
    close_all();
}

TEST(two_requests_share_no_handle)
{
    open_all(client);
    for (EACH(r)) {
        ilk_op *second = (ilk_op *)&err;

        start(r);
        assert_status(r->row->second, try_to_start(&second, r));
        if (r->row->second)
            assert_null(second);
        else
            ilk_op_free(second);
    }
    for (EACH(r))
        assert_ends(ILK_OK, client, r->op);
    close_all();
}

/* The server has executed the command, and executes it again. */
TEST(a_request_whose_reply_is_lost_is_repeated)
{
    ilk_client *own = open_client_at(between.url);

    open_all(own);
    for (EACH(r)) {
        if (is(r, REQUEST_IS_LOCAL))
            continue;
        proxy_cut(&between, r->row->word ? r->row->word : r->name, 0);
        start(r);
        assert_ends(ILK_OK, own, r->op);
        assert_int_equal(1, proxy_struck(&between));
        await_effect(r);
    }
    close_all();
    ilk_client_free(own);
}

/* ---- freed -------------------------------------------------------------- */

TEST(a_request_whose_operation_is_freed_is_executed)
{
    open_all(client);
    ping_loop(client);
    for (EACH(r)) {
        start(r);
        ilk_op_free(r->op);
    }

    for (EACH(r))
        await_sent(r);
    close_all();
}

static void free_handles_of_all(void)
{
    int outlives = REQUEST_BY_NAME | REQUEST_OUTLIVES_HANDLE | REQUEST_IS_LOCAL;

    for (EACH(r)) {
        start(r);
        free_handle(r);
        if (!is(r, outlives))
            assert_int_equal(ILK_ECANCELLED, ilk_op_status(r->op, &err));
    }
    for (EACH(r))
        assert_ends(is(r, outlives) ? ILK_OK : ILK_ECANCELLED, client, r->op);
}

TEST(a_freed_handle_ends_its_request)
{
    open_all(client);
    free_handles_of_all(); /* while it connects */
    close_all();
    assert_int_equal(0, server_flush());

    open_all(client);
    ping_loop(client);
    free_handles_of_all();
    for (EACH(r))
        await_sent(r);
    close_all();
}

/* The client, the handles and the operations, beginning with each of them,
 * while the client connects. */
TEST(all_may_be_freed_in_any_order)
{
    for (int turns = 0; turns < CONNECTING_TURNS; turns++)
        for (int first = 0; first < 3; first++) {
            ilk_client *own = open_client();

            open_all(own);
            start_all();
            for (int i = 0; i < turns; i++)
                (void)turn(own, 1);
            for (int i = 0; i < 3; i++)
                for (EACH(r))
                    switch ((first + i) % 3) {
                    case 0:
                        ilk_client_free(own);
                        own = NULL;
                        break;
                    case 1: free_handle(r); break;
                    default: ilk_op_free(r->op);
                    }
            close_all();
            assert_int_equal(0, server_flush());
        }
}

/* ---- processes, clients, servers ---------------------------------------- */

static void demand_forked(const request *r)
{
    ilk_op *mine = (ilk_op *)&err;

    demand_op_forked(r->op);
    demand(try_to_start(&mine, r) == ILK_EFORKED);
    demand(mine == NULL);
}

TEST(a_child_leaves_its_parents_requests_alone)
{
    pid_t pid;

    open_all(client);
    ping_loop(client);
    start_all();
    pid = fork_now();
    if (pid == 0) {
        for (EACH(r)) {
            demand_forked(r);
            ilk_op_free(r->op);
            free_handle(r);
        }
        _exit(0);
    }
    assert_ends_well(pid);

    for (EACH(r))
        assert_succeeds(r);
    close_all();
}

TEST(a_closed_client_ends_its_requests)
{
    ilk_client *own = open_client();

    open_all(own);
    start_all();
    assert_status(ILK_OK, ilk_client_close(own, &err));

    for (EACH(r)) {
        assert_ended(is(r, REQUEST_IS_LOCAL) ? ILK_OK : ILK_ECLOSED, own,
                     r->op);
        assert_result(RESULT_NONE, r->op);
        ilk_op_free(r->op);
        assert_status(ILK_ECLOSED, try_to_start(&r->op, r));
        assert_null(r->op);
    }
    close_all();
    ilk_client_free(own);
}

static ilk_client *open_with(int64_t reply_ms, int64_t outage_ms)
{
    ilk_client *own = NULL;
    ilk_client_opts opts;

    ilk_client_opts_init(&opts, sizeof opts);
    opts.reply_timeout_ms = reply_ms;
    opts.outage_ms = outage_ms;
    assert_status(ILK_OK, ilk_client_open(&own, fx.unix_url, &opts, &err));
    return own;
}

TEST(a_request_waits_for_the_server)
{
    ilk_client *own = open_with(0, 20000);

    open_all(own);
    ping_loop(own);
    assert_int_equal(0, fixture_kill(&fx));
    await_loss(own);
    start_all();
    for (EACH(r))
        if (is(r, REQUEST_IS_LOCAL))
            assert_ends(ILK_OK, own, r->op);
        else
            assert_status(ILK_EAGAIN, ilk_op_status(r->op, &err));
    assert_int_equal(0, fixture_restart(&fx));

    for (EACH(r)) {
        ilk_status st = r->row->forgotten;

        if (!r->op)
            continue;
        if (!is(r,
                REQUEST_PATIENT)) /* what it finds on a server without keys */
            st = await_op_end(own, r->op);
        assert_int_not_equal(st, ILK_ECONN);
        assert_ends(st, own, r->op);
    }
    close_all();
    ilk_client_free(own);
}

TEST(a_request_ends_with_the_time_for_an_outage)
{
    ilk_client *own = open_with(300, 300);

    open_all(own);
    ping_loop(own);
    assert_int_equal(0, fixture_kill(&fx));
    await_loss(own);
    start_all();

    for (EACH(r))
        assert_ends(is(r, REQUEST_IS_LOCAL) ? ILK_OK : ILK_ECONN, own, r->op);
    assert_int_equal(0, fixture_restart(&fx));
    close_all();
    ilk_client_free(own);
}

/* The loop has not noticed: what it writes to the old connection is lost. */
TEST(a_request_finds_the_server_that_is_back)
{
    open_all(client);
    ping_loop(client);
    assert_int_equal(0, fixture_kill(&fx));
    assert_int_equal(0, fixture_restart(&fx));
    start_all();

    for (EACH(r)) {
        ilk_status st = await_op_end(r->client, r->op);

        /* Nothing was written, if the loop noticed in time. */
        if (!is(r, REQUEST_PATIENT) || st != r->row->forgotten)
            st = r->row->repeated;
        assert_ends(st, client, r->op);
    }
    close_all();
}

/* ---- refused at once ---------------------------------------------------- */

TEST(wrong_arguments_start_nothing)
{
    open_all(client);
    for (EACH(r)) {
        r->op = (ilk_op *)&err;
        assert_status(ILK_EINVAL,
                      r->row->start(&r->op, NULL, r->name, r->data, &err));
        assert_null(r->op);
        assert_handle_refused(&err, r->row->noun);
        assert_status(ILK_EINVAL,
                      r->row->start(NULL, r->handle, r->name, r->data, &err));
        assert_out_refused(&err);
        if (r->row->start_wrong) {
            r->op = (ilk_op *)&err;
            assert_status(ILK_EINVAL,
                          r->row->start_wrong(&r->op, r->handle, &err));
            assert_null(r->op);
        }
        start(r); /* the handle is free */
        assert_ends(ILK_OK, client, r->op);
    }
    close_all();
}

TEST(a_handle_that_holds_nothing_starts_nothing)
{
    open_all(client);
    for (EACH(r)) {
        request idle = *r;

        if (!r->row->open_idle)
            continue;
        idle.handle = r->row->open_idle(client, r->name);
        idle.op = (ilk_op *)&err;
        assert_status(ILK_ENOTOWNER, try_to_start(&idle.op, &idle));
        assert_null(idle.op);
        r->row->free(idle.handle);
    }
    close_all();
}
