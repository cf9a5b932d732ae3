/* SPDX-License-Identifier: MIT */
/* ut_shared.c -- what a client's waits are labelled with. */
/* link: -Wl,--wrap=gethostname */
#include "op/shared.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"

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
static void a_label_is_one_word(void **state)
{
    (void)state;
    assert_label("worker", "worker");
    assert_label("the_third_worker_", "the third\tworker\n");
    assert_label("-", "");
}

static void without_a_label_it_is_host_and_process(void **state)
{
    char expected[128] = "", host[64] = "";

    (void)state;
    assert_int_equal(__real_gethostname(host, sizeof host - 1), 0);
    snprintf(expected, sizeof expected, "%s:%ld", host, (long)getpid());
    assert_label(expected, NULL);

    fails = 1;
    snprintf(expected, sizeof expected, "?:%ld", (long)getpid());
    assert_label(expected, NULL);
    fails = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_label_is_one_word),
        cmocka_unit_test(without_a_label_it_is_host_and_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
