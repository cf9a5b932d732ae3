/* SPDX-License-Identifier: MIT */
/* ut_opts.c -- how structs with a size grow. */
#include "base/opts.h"

#include <string.h>

#include "cmocka_all.h"

/* The same struct as an old, today's and a future program know it. */
typedef struct old_opts {
    size_t size;
    int64_t a;
} old_opts;

typedef struct our_opts {
    size_t size;
    int64_t a, b;
} our_opts;

typedef struct new_opts {
    size_t size;
    int64_t a, b, c;
} new_opts;

static void no_options_are_all_zero(void **state)
{
    our_opts ours = {1, 2, 3};

    (void)state;
    assert_int_equal(ilk__opts_copy(&ours, sizeof ours, NULL, "opts", NULL),
                     ILK_OK);

    assert_int_equal(ours.size, sizeof ours);
    assert_int_equal(ours.a, 0);
    assert_int_equal(ours.b, 0);
}

static void an_old_callers_missing_tail_is_zero(void **state)
{
    const old_opts theirs = {sizeof theirs, 7};
    our_opts ours = {1, 2, 3};

    (void)state;
    assert_int_equal(ilk__opts_copy(&ours, sizeof ours, &theirs, "opts", NULL),
                     ILK_OK);

    assert_int_equal(ours.size, sizeof ours);
    assert_int_equal(ours.a, 7);
    assert_int_equal(ours.b, 0);
}

static void a_new_callers_zero_tail_is_accepted(void **state)
{
    const new_opts theirs = {sizeof theirs, 7, 8, 0};
    our_opts ours;

    (void)state;
    assert_int_equal(ilk__opts_copy(&ours, sizeof ours, &theirs, "opts", NULL),
                     ILK_OK);

    assert_int_equal(ours.size, sizeof ours);
    assert_int_equal(ours.b, 8);
}

static void a_new_callers_unknown_wish_is_refused(void **state)
{
    const new_opts theirs = {sizeof theirs, 7, 8, INT64_MIN};
    our_opts ours;
    ilk_error err;

    (void)state;
    assert_int_equal(
        ilk__opts_copy(&ours, sizeof ours, &theirs, "lock options", &err),
        ILK_EINVAL);
    assert_non_null(strstr(err.msg, "lock options"));
}

static void a_size_that_nobody_set_is_refused(void **state)
{
    const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 5000, SIZE_MAX};
    our_opts ours, theirs = {0, 0, 0};
    ilk_error err;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        theirs.size = sizes[i];
        assert_int_equal(
            ilk__opts_copy(&ours, sizeof ours, &theirs, "opts", &err),
            ILK_EINVAL);
        assert_int_equal(
            ilk__opts_fill(&theirs, &ours, sizeof ours, "stats", &err),
            ILK_EINVAL);
        assert_int_equal(theirs.size, sizes[i]);
    }
}

static void fill_gives_an_old_caller_what_it_has_room_for(void **state)
{
    const our_opts ours = {sizeof ours, 7, 8};
    our_opts theirs = {sizeof(old_opts), 1, 2};

    (void)state;
    assert_int_equal(ilk__opts_fill(&theirs, &ours, sizeof ours, "stats", NULL),
                     ILK_OK);

    assert_int_equal(theirs.size, sizeof(old_opts));
    assert_int_equal(theirs.a, 7);
    assert_int_equal(theirs.b, 2);
}

static void fill_zeroes_what_only_a_new_caller_knows(void **state)
{
    const our_opts ours = {sizeof ours, 7, 8};
    new_opts theirs = {sizeof theirs, 1, 2, 3};

    (void)state;
    assert_int_equal(ilk__opts_fill(&theirs, &ours, sizeof ours, "stats", NULL),
                     ILK_OK);

    assert_int_equal(theirs.size, sizeof theirs);
    assert_int_equal(theirs.b, 8);
    assert_int_equal(theirs.c, 0);
}

static void fill_refuses_null(void **state)
{
    const our_opts ours = {sizeof ours, 7, 8};

    (void)state;
    assert_int_equal(ilk__opts_fill(NULL, &ours, sizeof ours, "stats", NULL),
                     ILK_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_options_are_all_zero),
        cmocka_unit_test(an_old_callers_missing_tail_is_zero),
        cmocka_unit_test(a_new_callers_zero_tail_is_accepted),
        cmocka_unit_test(a_new_callers_unknown_wish_is_refused),
        cmocka_unit_test(a_size_that_nobody_set_is_refused),
        cmocka_unit_test(fill_gives_an_old_caller_what_it_has_room_for),
        cmocka_unit_test(fill_zeroes_what_only_a_new_caller_knows),
        cmocka_unit_test(fill_refuses_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
