/* SPDX-License-Identifier: MIT */
/* state_op.c -- waits of events, latches and barriers as machines. */
#include "state_op.h"

#include "base/forked.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

ilk_client state_client;
ilk__op state_op;
static ilk_error error;

int state_op_setup(void)
{
    if (shared_case_setup() != 0)
        return -1;
    memset(&state_client, 0, sizeof state_client);
    state_client.refs = 1;
    state_client.shared = &shared;
    state_client.generation = ilk__fork_generation();
    state_client.loop = ilk__loop_new(&state_client, NULL, 0);
    ilk__op_init(&state_op, NULL, NULL, 0, NULL);
    return state_client.loop == NULL;
}

int state_op_teardown(void)
{
    ilk__op_free(&state_op);
    assert_int_equal(1, state_client.refs);
    ilk__loop_free(state_client.loop);
    return shared_case_teardown();
}

ilk__waiter *state_waiter(void *handle)
{
    return &((ilk__state *)handle)->waiter;
}

ilk__act state_begin(void *handle, int64_t timeout_ms)
{
    ilk__state *self = handle;

    self->waiter.once = timeout_ms == 0;
    ilk__op_free(&state_op);
    memset(&error, 0, sizeof error);
    ilk__op_init(&state_op, self->kind->wait, &self->waiter,
                 __wrap_ilk__deadline(timeout_ms), &error);
    return op_start(&state_op);
}

void assert_state_asks(void *handle, int queued, const char *script,
                       const char *keys, const char *rest)
{
    const ilk__waiter *waiter = state_waiter(handle);
    char wanted[2048];

    snprintf(wanted, sizeof wanted, "%s %s %s %s 6000 64 %s", script, keys,
             queued ? waiter->entry : "''", waiter->address, rest);
    assert_string_equal(op_says(&state_op), wanted);
}
