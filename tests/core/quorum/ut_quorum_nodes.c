/* SPDX-License-Identifier: MIT */
/* ut_quorum_nodes.c -- nodes that are closed with calls under way. */
#include "quorum/quorum_internal.h"

#include "base/alloc.h"

#include <string.h>

#include "cmocka_all.h"

enum { NODES = 3 };

static ilk__quorum quorum;
static char why[ILK_ERROR_MAX];

static int open_nodes(void **state)
{
    static const char *const hosts[NODES] = {"10.0.0.1", "10.0.0.2",
                                             "10.0.0.3"};

    (void)state;
    memset(&quorum, 0, sizeof quorum);
    quorum.patience_ms = 3000;
    quorum.longest_ms = 60000;
    for (size_t i = 0; i < NODES; i++)
        if (ilk__quorum_add_node(&quorum,
                                 (ilk__span){hosts[i], strlen(hosts[i])}, NULL))
            return -1;
    ilk__members_begin(&quorum.members, NODES);
    return 0;
}

/* ---- closing ------------------------------------------------------------- */

static int write_why(void *at, void *owner, const ilk__node_call *call,
                     ilk__reply *reply)
{
    (void)at;
    (void)owner;
    (void)call;
    assert_null(reply);
    ilk__quorum_write_why(&quorum, "NOQUORUM", why);
    return 0;
}

static void a_call_that_ends_at_the_close_may_name_all_nodes(void **state)
{
    ilk__node_call *call = ilk__calloc(1, sizeof *call);

    (void)state;
    assert_non_null(call);
    call->ended = write_why;
    quorum.nodes[2].calls.first = quorum.nodes[2].calls.last = call;
    ilk__quorum_close_nodes(&quorum);
    assert_string_equal(
        "NOQUORUM 0 of 3 nodes vote, and 2 must; 10.0.0.1:6379: "
        "it has not been reached yet",
        why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_call_that_ends_at_the_close_may_name_all_nodes,
                               open_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
