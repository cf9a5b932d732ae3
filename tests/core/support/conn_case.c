/* SPDX-License-Identifier: MIT */
/* conn_case.c -- what tests of connections share. */
#include "conn_case.h"
#include "base/alloc.h"
#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

peer far_end;
ilk_error err;
ilk__conn *conn;
long conn_case_fail_at;

int conn_case_fds(void)
{
    enum { LOOKED_AT = 512 }; /* valgrind's own are far above */
    int count = 0;

    for (int fd = 0; fd < LOOKED_AT; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

int conn_case_setup(void)
{
    memset(&err, 0, sizeof err);
    conn = NULL;
    return peer_open(&far_end);
}

int conn_case_teardown(void)
{
    ilk__conn_close(conn);
    peer_close(&far_end);
    return 0;
}

ilk_status conn_case_open_url(const char *text, int64_t timeout_ms)
{
    ilk_status status;
    ilk__url url;

    assert_int_equal(ilk__url_parse(&url, text, &err), ILK_OK);
    if (conn_case_fail_at != 0)
        ilk__alloc_fail_at(conn_case_fail_at);
    status = ilk__conn_open(&conn, &(ilk__target){.url = &url, .name = "n"},
                            NULL, ilk__deadline(timeout_ms), &err);
    ilk__alloc_fail_at(0);
    ilk__url_free(&url);
    if (status != ILK_OK) {
        assert_null(conn);
        assert_int_equal(err.code, status);
    }
    return status;
}

ilk_status conn_case_open(int64_t timeout_ms)
{
    char url[64];

    snprintf(url, sizeof url, "redis://:sesame@127.0.0.1:%d", far_end.port);
    return conn_case_open_url(url, timeout_ms);
}

void conn_case_says(const char *text)
{
    if (strstr(err.msg, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, err.msg);
    assert_null(strstr(err.msg, "sesame"));
}

void conn_case_says_where(void)
{
    char where[32];

    snprintf(where, sizeof where, "127.0.0.1:%d", far_end.port);
    conn_case_says(where);
}
