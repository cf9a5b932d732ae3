/* SPDX-License-Identifier: MIT */
/* ut_node_calls.c -- the calls to a node, on a connection that is played. */
/* link: -Wl,--wrap=ilk__async_conn_next -Wl,--wrap=ilk__gateway_left_open */
#include "gateway/node_calls.h"

#include "test.h"

static const ilk__target target;
static ilk__node_calls calls;
static ilk__async_conn_result next; /* of the connection */
static int reports;                 /* to the gateway */

ilk__async_conn_result __wrap_ilk__async_conn_next(ilk__async_conn *connection,
                                                   ilk__reply **out);
void __wrap_ilk__gateway_left_open(ilk__gateway *gateway);

ilk__async_conn_result __wrap_ilk__async_conn_next(ilk__async_conn *connection,
                                                   ilk__reply **out)
{
    (void)connection;
    (void)out;
    return next;
}

void __wrap_ilk__gateway_left_open(ilk__gateway *gateway)
{
    assert_ptr_equal(calls.gateway, gateway);
    reports++;
}

static void come_up(int left_open)
{
    ilk__node_call *call;
    ilk__reply *reply;

    next = ILK__ASYNC_CONN_CAME_UP;
    calls.connection.left_open = left_open;
    assert_int_equal(ilk__node_calls_next(&calls, &call, &reply),
                     ILK__NODE_CALLS_CAME_UP);
}

TEST(the_gateway_learns_of_connections_left_open)
{
    static char gateway[1];

    ilk__node_calls_init(&calls, (ilk__gateway *)(void *)gateway, &target,
                         NULL);
    come_up(0);
    assert_int_equal(reports, 0);
    come_up(1);
    assert_int_equal(reports, 1);
}
