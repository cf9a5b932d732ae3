/* SPDX-License-Identifier: MIT */
/*
 * ct_alloc.c -- whole scenes in which the n-th allocation and all after it
 * fail, for n = 1, 2, 3 ... until a scene needs no more.
 *
 * Each ends as it should or with ILK_ENOMEM; what it took on the server is
 * free again or runs out; with memory back its client works. Leaks are found
 * by the address sanitizer. The keeper allocates, too, so that n is not the
 * same allocation in every run.
 */
#include "scene_case.h"

#include <string.h>

static ilk_lock *lock;

/* ---- handles ------------------------------------------------------------ */

static ilk_status open_a_client(ilk_error *err)
{
    ilk_client *own = NULL;
    ilk_status st = ilk_client_open(&own, fx.unix_url, NULL, err);

    if (st)
        assert_null(own);
    else
        st = ilk_client_ping(own, 1000, err);
    ilk_client_free(own);
    return st;
}

static ilk_status open_locks(ilk_error *err)
{
    ilk_lock_opts opts;
    ilk_lock *plain = NULL, *reader = NULL, *writer = NULL, *other = NULL;
    ilk_status st;

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.layout = ILK_LAYOUT_REDISSON;
    st = ilk_lock_open(&plain, client, "a", 1, NULL, err);
    if (st == ILK_OK)
        st = ilk_rwlock_read_open(&reader, client, "b", 1, NULL, err);
    if (st == ILK_OK)
        st = ilk_rwlock_write_open(&writer, client, "b", 1, NULL, err);
    if (st == ILK_OK)
        st = ilk_lock_open(&other, client, "c", 1, &opts, err);
    assert_true(st == ILK_OK || other == NULL);
    ilk_lock_free(plain);
    ilk_lock_free(reader);
    ilk_lock_free(writer);
    ilk_lock_free(other);
    return st;
}

static ilk_status listen(ilk_error *err)
{
    ilk_notification notification = {.size = sizeof notification};
    int fd = -1;
    ilk_status st = ilk_client_notification_fd(client, &fd, err);

    if (st == ILK_OK)
        st = ilk_client_next_notification(client, &notification, err);
    return st;
}

/* ---- one lock ----------------------------------------------------------- */

static ilk_status take_and_give(ilk_error *err)
{
    return take_and_give_lock(lock, err);
}

static ilk_status hand_over(ilk_error *err)
{
    ilk_lock *heir = NULL;
    ilk_status st = ilk_lock_open(&heir, client, "n", 1, NULL, err);
    const char *token = ilk_lock_token(lock);

    if (st == ILK_OK)
        st = ilk_lock_acquire(lock, 0, err);
    if (st == ILK_OK)
        st = ilk_lock_detach(lock, err);
    if (st == ILK_OK)
        st = ilk_lock_adopt(heir, token, strlen(token), err);
    if (st == ILK_OK)
        st = ilk_lock_break(client, "n", 1, NULL, 0, err);
    ilk_lock_free(heir);
    return st;
}

static void held_by_others(void)
{
    fixture_command(&fx, "SET n somebody PX 60000");
}

static void held_for_a_moment(void)
{
    fixture_command(&fx, "SET n somebody PX 40");
}

static ilk_status wait_in_vain(ilk_error *err)
{
    return ilk_lock_acquire(lock, 60, err);
}

static ilk_status wait_and_get(ilk_error *err)
{
    return ilk_lock_acquire(lock, 300, err);
}

static ilk_status wait_for_redisson(ilk_error *err)
{
    ilk_lock_opts opts;
    ilk_lock *other = NULL;
    ilk_status st;

    ilk_lock_opts_init(&opts, sizeof opts);
    opts.layout = ILK_LAYOUT_REDISSON;
    st = ilk_lock_open(&other, client, "hash", 4, &opts, err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(other, 100, err);
    ilk_lock_free(other);
    return st;
}

static void held_by_redisson(void)
{
    fixture_command(&fx, "HSET hash uuid:1 1");
    fixture_command(&fx, "PEXPIRE hash 60000");
}

/* Memory is short when the renewal is due, and back before it is too late. */
static void held_by_us(void)
{
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_lock_acquire_ttl(lock, 0, 600, &err));
}

static ilk_status stay(ilk_error *err)
{
    fixture_sleep_ms(300);
    return ilk_lock_check(lock, err);
}

/* ---- others ------------------------------------------------------------- */

static ilk_status take_many(ilk_error *err)
{
    const void *names[] = {"x", "y", "z"};
    const size_t lens[] = {1, 1, 1};
    ilk_lock_many *many = NULL;
    ilk_status st =
        ilk_lock_many_open(&many, client, names, lens, 3, NULL, err);

    if (st == ILK_OK)
        st = ilk_lock_many_acquire(many, 100, err);
    if (st == ILK_OK)
        st = ilk_lock_many_extend(many, 20000, err);
    if (st == ILK_OK)
        st = ilk_lock_many_release(many, err);
    ilk_lock_many_free(many);
    return st;
}

static void one_of_many_is_held(void)
{
    fixture_command(&fx, "SET y somebody PX 40");
}

static ilk_status read_and_write(ilk_error *err)
{
    ilk_lock *reader = NULL, *writer = NULL;
    ilk_status st = ilk_rwlock_read_open(&reader, client, "n", 1, NULL, err);

    if (st == ILK_OK)
        st = ilk_rwlock_write_open(&writer, client, "n", 1, NULL, err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(reader, 0, err);
    if (st == ILK_OK)
        st = ilk_lock_release(reader, err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(writer, 0, err);
    if (st == ILK_OK)
        st = ilk_lock_release(writer, err);
    ilk_lock_free(reader);
    ilk_lock_free(writer);
    return st;
}

static ilk_status look(ilk_error *err)
{
    ilk_info *info = NULL;
    ilk_list *list = NULL;
    ilk_status st = ilk_inspect(&info, client, "n", 1, err);

    if (st == ILK_OK)
        st = ilk_list_open(&list, client, NULL, 0, err);
    assert_true(st == ILK_OK || list == NULL);
    ilk_info_free(info);
    ilk_list_free(list);
    return st;
}

static ilk_status guard(ilk_error *err)
{
    ilk_value *value = NULL;
    ilk_status st = ilk_guard_set(client, "g", 1, 17, "stock", 5, err);

    if (st == ILK_OK)
        st = ilk_guard_get(&value, client, "g", 1, 18, err);
    if (st == ILK_OK)
        st = ilk_guard_remove(client, "g", 1, err);
    ilk_value_free(value);
    return st;
}

static ilk_status lead(ilk_error *err)
{
    ilk_election_opts opts;
    ilk_election *one = NULL;
    ilk_observer *observer = NULL;
    ilk_leader *found = NULL;
    ilk_status st;

    ilk_election_opts_init(&opts, sizeof opts);
    opts.identity = opts.value = "node";
    opts.identity_len = opts.value_len = 4;
    st = ilk_election_open(&one, client, "e", 1, &opts, err);
    if (st == ILK_OK)
        st = ilk_election_campaign(one, 300, err);
    if (st == ILK_OK)
        st = ilk_election_proclaim(one, "other", 5, err);
    if (st == ILK_OK)
        st = ilk_election_observe(&observer, one, 0, err);
    if (st == ILK_OK)
        st = ilk_observer_next(&found, observer, 1000, err);
    ilk_leader_free(found);
    if (st == ILK_OK) {
        st = ilk_observer_next(&found, observer, 30, err);
        if (st == ILK_ETIMEOUT) /* nothing has changed since */
            st = ilk_election_leader(&found, one, err);
        ilk_leader_free(found);
    }
    if (st == ILK_OK)
        st = ilk_election_resign(one, err);
    ilk_observer_free(observer);
    ilk_election_free(one);
    return st;
}

static void led_for_a_moment(void)
{
    fixture_command(&fx, "SET ilk:election:{e} somebody PX 40");
}

static ilk_status end_it(ilk_error *err)
{
    ilk_status st = ilk_client_close(client, err);

    assert_int_equal(ilk_lock_acquire(lock, 0, NULL), ILK_ECLOSED);
    return st;
}

/* ---- the machinery ------------------------------------------------------ */

static const scene scenes[] = {
    {"open a client", NULL, open_a_client, ILK_OK, ILK_OK},
    {"open locks", NULL, open_locks, ILK_OK, ILK_OK},
    {"listen for notifications", NULL, listen, ILK_EAGAIN, ILK_OK},
    {"take and give", NULL, take_and_give, ILK_OK, ILK_OK},
    {"hand over", NULL, hand_over, ILK_OK, ILK_OK},
    {"wait in vain", held_by_others, wait_in_vain, ILK_ETIMEOUT, ILK_OK},
    {"wait and get", held_for_a_moment, wait_and_get, ILK_OK, ILK_ETIMEOUT},
    {"wait for Redisson", held_by_redisson, wait_for_redisson, ILK_ETIMEOUT,
     ILK_OK},
    {"stay", held_by_us, stay, ILK_OK, ILK_OK},
    {"take many", NULL, take_many, ILK_OK, ILK_OK},
    {"wait for many", one_of_many_is_held, take_many, ILK_OK, ILK_ETIMEOUT},
    {"read and write", NULL, read_and_write, ILK_OK, ILK_OK},
    {"look", held_by_others, look, ILK_OK, ILK_OK},
    {"guard", NULL, guard, ILK_OK, ILK_OK},
    {"lead", led_for_a_moment, lead, ILK_OK, ILK_ETIMEOUT},
    {"end it", held_by_us, end_it, ILK_OK, ILK_OK},
};

/* Nothing that was taken stays taken for ever. */
static void assert_expires(const char *name)
{
    if (fixture_int(&fx, "PTTL %s", name) == -1)
        fail_msg("%s is held for ever", name);
}

static void assert_works(void)
{
    ilk_lock *other = open_lock(client, "other");
    ilk_error err = {0};

    if (ilk_client_ping(client, 1000, NULL) != ILK_ECLOSED) {
        assert_status(ILK_OK, ilk_lock_acquire(other, patience(3000), &err));
        assert_status(ILK_OK, ilk_lock_release(other, &err));
    }
    ilk_lock_free(other);
}

/* A scene that a slow machine has ended is played again, without a check before. */
static void open_the_lock(void)
{
    ilk_lock_free(lock);
    lock = open_lock(client, "n");
}

static void check(const scene *s)
{
    if (strcmp(s->name, "end it") != 0)
        assert_works();
    for (const char *name = "nxyz"; *name; name++)
        assert_expires((char[]){*name, '\0'});
    ilk_lock_free(lock);
    lock = NULL;
}

int main(void)
{
    static const stage common = {open_the_lock, check, 0};

    return run_scenes(scenes, sizeof scenes / sizeof *scenes, &common);
}
