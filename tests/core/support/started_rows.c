/* SPDX-License-Identifier: MIT */
/* started_rows.c -- what the tables of started operations share, and the tests
 * that play all their rows. */
#include "started_rows.h"

#include "fork_case.h"

#include <stdio.h>
#include <string.h>

enum { AWAY_MS = 100, END_MS = 10000 };

void *open_two_locks(ilk_client *of, const char *name)
{
    char first[80];
    const void *names[] = {first, name};
    size_t lens[2];
    ilk_lock_many *many = NULL;
    ilk_error err = {0};

    lens[0] = (size_t)snprintf(first, sizeof first, "first.%s", name);
    lens[1] = strlen(name);
    assert_status(ILK_OK,
                  ilk_lock_many_open(&many, of, names, lens, 2, NULL, &err));
    return many;
}

int rows_setup(void)
{
    if (server_flush() != 0)
        return -1;
    client = open_client();
    other = open_client();
    return 0;
}

int rows_teardown(void)
{
    row_name = NULL;
    ilk_client_free(client);
    ilk_client_free(other);
    client = other = NULL;
    return 0;
}

const char *filled(const char *pattern, const char *name)
{
    static char text[512];
    size_t used = 0;

    for (; *pattern; pattern++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s",
                                 *pattern == '@' ? (int)sizeof text : 1,
                                 *pattern == '@' ? name : pattern);
    return text;
}

/* ---- the loop ----------------------------------------------------------- */

static ilk_op *start_ping(ilk_client *of, int64_t timeout_ms)
{
    ilk_op *ping = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_client_ping_start(&ping, of, timeout_ms, &err));
    return ping;
}

void ping_loop(ilk_client *of)
{
    ilk_op *ping = start_ping(of, -1);

    assert_ends(ILK_OK, of, ping);
}

void await_loss(ilk_client *of)
{
    ilk_op *ping = start_ping(of, AWAY_MS);

    assert_int_not_equal(ILK_OK, await_op_end(of, ping));
    ilk_op_free(ping);
}

ilk_status await_op_end(ilk_client *of, ilk_op *op)
{
    int64_t limit = fixture_now_ms() + patience(END_MS);
    ilk_status st;

    while ((st = ilk_op_status(op, NULL)) == ILK_EAGAIN
           && fixture_now_ms() < limit)
        (void)turn(of, 20);
    return st;
}

/* ---- refusals ----------------------------------------------------------- */

void assert_handle_refused(const ilk_error *err, const char *noun)
{
    assert_non_null(strstr(err->msg, noun));
    assert_non_null(strstr(err->msg, "must not be NULL"));
}

void assert_out_refused(const ilk_error *err)
{
    assert_string_equal("out must not be NULL", err->msg);
}

void demand_op_forked(ilk_op *op)
{
    demand(ilk_op_status(op, NULL) == ILK_EFORKED);
    demand(ilk_op_cancel(op, NULL) == ILK_EFORKED);
    demand(ilk_op_number(op) == 0);
}
