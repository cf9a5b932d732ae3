/* SPDX-License-Identifier: MIT */
/*
 * ct_group_alloc.c -- scenes with groups in which the n-th allocation and all
 * after it fail, as in ct_alloc.c.
 */
#include "scene_case.h"
#include "state_case.h"

#include <string.h>

static ilk_status open_named(ilk_group **out, ilk_error *err)
{
    ilk_status st = ilk_group_open(out, client, "n", 1, err);

    assert_true((st == ILK_OK) == (*out != NULL));
    return st;
}

static ilk_status join_update_leave(ilk_error *err)
{
    ilk_group *group = NULL;
    ilk_member *member = NULL;
    ilk_status st = open_named(&group, err);

    if (st == ILK_OK)
        st = ilk_member_open(&member, group, "a", 1, NULL, err);
    if (st == ILK_OK)
        st = ilk_member_join(member, "data", 4, err);
    if (st == ILK_OK)
        st = ilk_member_update(member, "news", 4, err);
    if (st == ILK_OK)
        st = ilk_member_leave(member, err);
    ilk_member_free(member);
    ilk_group_free(group);
    return st;
}

static void fill(void)
{
    fixture_command(&fx, "FLUSHALL");
    for (int i = 0; i < 5; i++) {
        char id[2] = {(char)('a' + i), '\0'};

        ilk_member_free(join_group(client, "n", id, 60000));
    }
}

static ilk_status list(ilk_error *err)
{
    ilk_group *group = NULL;
    ilk_members *members = NULL;
    ilk_status st = open_named(&group, err);

    if (st == ILK_OK)
        st = ilk_group_members(&members, group, err);
    assert_int_equal(st == ILK_OK ? 5 : 0, ilk_members_count(members));
    ilk_members_free(members);
    ilk_group_free(group);
    return st;
}

static ilk_group *failed; /* a watcher without memory; for check() */

static ilk_status watch(ilk_error *err)
{
    ilk_group *group = NULL;
    ilk_members *members = NULL;
    ilk_status st = open_named(&group, err);

    if (st == ILK_OK)
        st = ilk_group_watch(&members, group, 2000, err);
    assert_int_equal(st == ILK_OK ? 5 : 0, ilk_members_count(members));
    ilk_members_free(members);
    if (st)
        failed = group;
    else
        ilk_group_free(group);
    return st;
}

static ilk_status watch_in_vain(ilk_error *err)
{
    ilk_group *group = NULL;
    ilk_members *members = NULL;
    ilk_status st = open_named(&group, err);

    if (st == ILK_OK)
        st = ilk_group_watch(&members, group, 2000, err);
    ilk_members_free(members);
    members = NULL;
    if (st == ILK_OK)
        st = ilk_group_watch(&members, group, 40, err);
    assert_null(members);
    ilk_group_free(group);
    return st;
}

static const scene scenes[] = {
    {"join, update, leave", NULL, join_update_leave, ILK_OK, ILK_OK},
    {"list", fill, list, ILK_OK, ILK_OK},
    {"watch", fill, watch, ILK_OK, ILK_OK},
    {"watch in vain", fill, watch_in_vain, ILK_ETIMEOUT, ILK_OK},
};

/* With memory back all of it works, and no change was lost. */
static void check(const scene *s)
{
    ilk_member *member = join_group(client, "after", "m", 60000);
    ilk_members *members = NULL;
    ilk_error err = {0};

    (void)s;
    if (failed) {
        assert_status(ILK_OK, ilk_group_watch(&members, failed, 5000, &err));
        assert_int_equal(5, ilk_members_count(members));
        ilk_members_free(members);
        ilk_group_free(failed);
        failed = NULL;
    }
    assert_status(ILK_OK, ilk_member_leave(member, &err));
    ilk_member_free(member);
}

int main(void)
{
    static const stage common = {NULL, check, 3};

    return run_scenes(scenes, sizeof scenes / sizeof *scenes, &common);
}
