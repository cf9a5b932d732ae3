/* SPDX-License-Identifier: MIT */
/* lease_case.c -- what tests of leases share. */
#include "lease_case.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

ilk__lease lease;
static char lock_key[] = "orders", fence_key[] = "fence";
static ilk__bytes keys[2] = {{.data = lock_key, .len = 6},
                             {.data = fence_key, .len = 5}};

void lease_case_init(void)
{
    memset(&lease, 0, sizeof lease);
    assert_int_equal(ilk__lease_init(&lease, &shared, &ilk__lock_plain.lease,
                                     keys, 2, ID, NULL),
                     ILK_OK);
    memcpy(lease.token, "token", lease.token_len = 5);
}

int lease_case_setup(void)
{
    int failed = shared_case_setup();

    lease_case_init();
    return failed;
}

int lease_case_teardown(void)
{
    ilk__lease_destroy(&lease);
    return shared_case_teardown();
}

/* Taken now, and looked after; hold_ms as max_hold_ms, 0 has no end. */
void hold(int renews, int64_t hold_ms)
{
    ilk__lease_begin(&lease, 17, ilk__lease_deadline(local_ms, TTL_MS), TTL_MS);
    ilk__lease_watch(&lease, TTL_MS, renews,
                     hold_ms ? local_ms + hold_ms : ILK__FOREVER);
}

ilk__inflight *renewal_of(int64_t ttl_ms)
{
    ilk__inflight *inflight = next_inflight();
    char words[64];

    assert_non_null(inflight);
    snprintf(words, sizeof words, "lock_extend 2 orders fence token %d 1",
             (int)ttl_ms);
    assert_string_equal(op_says(&inflight->op), words);
    return inflight;
}

static void assert_notification(ilk_status why)
{
    ilk_notification notification = {.size = sizeof notification};

    assert_int_equal(
        ilk__notifications_next(&shared.notifications, &notification, NULL),
        ILK_OK);
    assert_int_equal(notification.kind, ILK_NOTIFICATION_LOCK_LOST);
    assert_int_equal(notification.id, ID);
    assert_int_equal(notification.status, why);
    assert_int_equal(
        ilk__notifications_next(&shared.notifications, &notification, NULL),
        ILK_EAGAIN);
}

void assert_no_notification(void)
{
    ilk_notification notification = {.size = sizeof notification};

    assert_int_equal(
        ilk__notifications_next(&shared.notifications, &notification, NULL),
        ILK_EAGAIN);
}

void assert_lost(ilk_status why)
{
    assert_int_equal(ilk__lease_check(&lease, NULL), ILK_ELOST);
    assert_int_equal(ilk__lease_remaining(&lease), 0);
    assert_int_equal(shared.stats.held, 0);
    assert_int_equal(shared.stats.losses, 1);
    assert_notification(why);
}
