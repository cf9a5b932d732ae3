/* SPDX-License-Identifier: MIT */
/* ut_cluster_redirect.c -- a node's refusals, also in texts of a faulty server. */
#include "stores/cluster/redirect.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

static ilk__redirect read_text(const char *text)
{
    char copy[1024];
    ilk__reply reply = {.type = ILK__REPLY_ERROR, .str = copy};

    reply.len = (size_t)snprintf(copy, sizeof copy, "%s", text);
    return ilk__redirect_read(&reply);
}

static void assert_target(const char *text, ilk__redirect_kind kind, int slot,
                          const char *host, int port)
{
    const ilk__redirect to = read_text(text);

    assert_int_equal(to.kind, kind);
    assert_int_equal(to.slot, slot);
    assert_string_equal(to.host, host);
    assert_int_equal(to.port, port);
}

TEST(redirections)
{
    assert_target("MOVED 3999 127.0.0.1:6381", ILK__REDIRECT_MOVED, 3999,
                  "127.0.0.1", 6381);
    assert_target("ASK 0 ::1:7000", ILK__REDIRECT_ASK, 0, "::1", 7000);
    assert_target("MOVED 16383 node-1.example:1", ILK__REDIRECT_MOVED, 16383,
                  "node-1.example", 1);
    assert_target("MOVED 5 :6379", ILK__REDIRECT_MOVED, 5, "", 6379);
}

TEST(refusals_that_pass)
{
    static const char *const texts[] = {
        "TRYAGAIN Multiple keys request during rehashing of slot",
        "CLUSTERDOWN The cluster is down",
        "LOADING Redis is loading the dataset in memory",
        "MASTERDOWN Link with MASTER is down",
        "READONLY You can't write against a read only replica."};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(read_text(texts[i]).kind, ILK__REDIRECT_LATER);
}

TEST(other_texts_are_no_redirections)
{
    static const char *const texts[] = {"",
                                        "MOVED",
                                        "MOVED ",
                                        "MOVED 1",
                                        "MOVED 1 ",
                                        "MOVED 1 host",
                                        "MOVED 1 host:",
                                        "MOVED 1 host:0",
                                        "MOVED 1 host:65536",
                                        "MOVED 1 host:6379 ",
                                        "MOVED 1 host:-1",
                                        "MOVED 16384 host:6379",
                                        "MOVED -1 host:6379",
                                        "MOVED 99999999999999999999 host:6379",
                                        "MOVED x host:6379",
                                        "MOVED  1 host:6379",
                                        "MOVED 1 ho st:6379",
                                        "MOVED 1 ?:6379",
                                        "MOVED 1 h\x01:6379",
                                        "MOVED 1 user@host:6379",
                                        "MOVED 1 host/x:6379",
                                        "ASKING 1 host:6379",
                                        "MOVEDX 1 host:6379",
                                        "WRONGTYPE Operation against a key",
                                        "ERR MOVED 1 host:6379"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (read_text(texts[i]).kind != ILK__REDIRECT_NONE)
            fail_msg("a redirection: %s", texts[i]);
}

TEST(a_host_has_a_limit)
{
    char text[ILK__NODE_HOST + 64];

    snprintf(text, sizeof text, "MOVED 1 %0*d:6379", ILK__NODE_HOST - 1, 0);
    assert_int_equal(read_text(text).kind, ILK__REDIRECT_MOVED);
    snprintf(text, sizeof text, "MOVED 1 %0*d:6379", ILK__NODE_HOST, 0);
    assert_int_equal(read_text(text).kind, ILK__REDIRECT_NONE);
}

TEST(only_errors_redirect)
{
    char text[] = "MOVED 1 host:6379";
    ilk__reply reply = {
        .type = ILK__REPLY_STR, .str = text, .len = sizeof text - 1};

    assert_int_equal(ilk__redirect_read(&reply).kind, ILK__REDIRECT_NONE);
}
