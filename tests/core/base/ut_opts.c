/* SPDX-License-Identifier: MIT */
/* ut_opts.c -- how structs with a size grow. */
#include "base/opts.h"

#include <string.h>

#include "test.h"

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

TEST(no_options_are_all_zero)
{
    our_opts ours = {1, 2, 3};

    assert_int_equal(ilk__opts_copy(&ours, sizeof ours, NULL, "opts", NULL),
                     ILK_OK);

    assert_int_equal(ours.size, sizeof ours);
    assert_int_equal(ours.a, 0);
    assert_int_equal(ours.b, 0);
}

TEST(an_old_callers_missing_tail_is_zero)
{
    const old_opts theirs = {sizeof theirs, 7};
    our_opts ours = {1, 2, 3};

    assert_int_equal(ilk__opts_copy(&ours, sizeof ours, &theirs, "opts", NULL),
                     ILK_OK);

    assert_int_equal(ours.size, sizeof ours);
    assert_int_equal(ours.a, 7);
    assert_int_equal(ours.b, 0);
}

TEST(a_new_callers_zero_tail_is_accepted)
{
    const new_opts theirs = {sizeof theirs, 7, 8, 0};
    our_opts ours;

    assert_int_equal(ilk__opts_copy(&ours, sizeof ours, &theirs, "opts", NULL),
                     ILK_OK);

    assert_int_equal(ours.size, sizeof ours);
    assert_int_equal(ours.b, 8);
}

TEST(a_new_callers_unknown_wish_is_refused)
{
    const new_opts theirs = {sizeof theirs, 7, 8, INT64_MIN};
    our_opts ours;
    ilk_error err;

    assert_int_equal(
        ilk__opts_copy(&ours, sizeof ours, &theirs, "lock options", &err),
        ILK_EINVAL);
    assert_non_null(strstr(err.msg, "lock options"));
}

TEST(a_size_that_nobody_set_is_refused)
{
    const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 5000, SIZE_MAX};
    our_opts ours, theirs = {0, 0, 0};
    ilk_error err;

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

TEST(fill_gives_an_old_caller_what_it_has_room_for)
{
    const our_opts ours = {sizeof ours, 7, 8};
    our_opts theirs = {sizeof(old_opts), 1, 2};

    assert_int_equal(ilk__opts_fill(&theirs, &ours, sizeof ours, "stats", NULL),
                     ILK_OK);

    assert_int_equal(theirs.size, sizeof(old_opts));
    assert_int_equal(theirs.a, 7);
    assert_int_equal(theirs.b, 2);
}

TEST(fill_zeroes_what_only_a_new_caller_knows)
{
    const our_opts ours = {sizeof ours, 7, 8};
    new_opts theirs = {sizeof theirs, 1, 2, 3};

    assert_int_equal(ilk__opts_fill(&theirs, &ours, sizeof ours, "stats", NULL),
                     ILK_OK);

    assert_int_equal(theirs.size, sizeof theirs);
    assert_int_equal(theirs.b, 8);
    assert_int_equal(theirs.c, 0);
}

TEST(fill_refuses_null)
{
    const our_opts ours = {sizeof ours, 7, 8};

    assert_int_equal(ilk__opts_fill(NULL, &ours, sizeof ours, "stats", NULL),
                     ILK_EINVAL);
}
