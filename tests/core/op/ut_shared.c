/* SPDX-License-Identifier: MIT */
/* ut_shared.c -- what a client's waits are labelled with. */
/* link: -Wl,--wrap=gethostname */
#include "op/shared.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

int __real_gethostname(char *out, size_t size);
int __wrap_gethostname(char *out, size_t size);

static int fails;

int __wrap_gethostname(char *out, size_t size)
{
    return fails ? -1 : __real_gethostname(out, size);
}

static void assert_label(const char *expected, const char *given)
{
    ilk__shared shared;

    assert_int_equal(ilk__shared_open(&shared, given, NULL), ILK_OK);
    assert_string_equal(shared.label, expected);
    ilk__shared_close(&shared);
}

/* Spaces separate the words of an entry. */
TEST(a_label_is_one_word)
{
    assert_label("worker", "worker");
    assert_label("the_third_worker_", "the third\tworker\n");
    assert_label("-", "");
}

TEST(without_a_label_it_is_host_and_process)
{
    char expected[128] = "", host[64] = "";

    assert_int_equal(__real_gethostname(host, sizeof host - 1), 0);
    snprintf(expected, sizeof expected, "%s:%ld", host, (long)getpid());
    assert_label(expected, NULL);

    fails = 1;
    snprintf(expected, sizeof expected, "?:%ld", (long)getpid());
    assert_label(expected, NULL);
    fails = 0;
}
