/* SPDX-License-Identifier: MIT */
/*
 * ct_recipes_alloc.c -- the recipes in which the n-th allocation and all after
 * it fail, for n = 1, 2, 3 ... until a scene needs no more. Each ends as it
 * should or with ILK_ENOMEM, and its client works on.
 */
#include "lock_case.h"

#include "base/alloc.h"

#include <string.h>

static ilk_client *client;

typedef struct scene {
    const char *name;
    ilk_status (*run)(ilk_error *err);
} scene;

static ilk_status lists(ilk_error *err)
{
    ilk_items *items = NULL;
    ilk_status st = ilk_recipes_push(NULL, client, "q", 1, 0, "x", 1, err);

    if (st == ILK_OK)
        st = ilk_recipes_pop(&items, client, "q", 1, 0, err);
    ilk_items_free(items);
    return st;
}

static ilk_status safe(ilk_error *err)
{
    ilk_items *items = NULL;
    ilk_status st;

    fixture_command(&fx, "LPUSH q x");
    st = ilk_recipes_park(&items, client, "q", 1, "c", 1, err);
    if (st == ILK_OK)
        st = ilk_recipes_unpark(client, "c", 1, ilk_items_data(items, 1, NULL),
                                32, err);
    ilk_items_free(items);
    if (st == ILK_OK)
        st = ilk_recipes_restore(NULL, client, "q", 1, "c", 1, err);
    return st;
}

static ilk_status timed(ilk_error *err)
{
    ilk_items *tasks = NULL, *permit = NULL;
    int64_t selector = 0;
    ilk_status st = ilk_recipes_delay(client, "z", 1, -1, "x", 1, err);

    if (st == ILK_OK)
        st = ilk_recipes_due(&tasks, NULL, client, "z", 1, err);
    ilk_items_free(tasks);
    if (st == ILK_OK)
        st = ilk_recipes_permit(&permit, client, "s", 1, 5, 10, err);
    if (st == ILK_OK)
        st = ilk_recipes_permit_release(
            client, "s", 1, ilk_items_data(permit, 0, NULL), 36, err);
    ilk_items_free(permit);
    if (st == ILK_OK)
        st = ilk_recipes_master(&selector, client, "m", 1, NULL, 0, 0, 1000,
                                err);
    return st;
}

static ilk_status consume(ilk_error *err)
{
    static const void *const names[] = {"a", "b"};
    static const size_t lens[] = {1, 1};
    ilk_consumer *consumer = NULL;
    ilk_items *items = NULL;
    ilk_status st;

    fixture_command(&fx, "RPUSH b x");
    st = ilk_consumer_open(&consumer, client, names, lens, 2, err);
    if (st == ILK_OK)
        st = ilk_consumer_pop(&items, consumer, 1000, err);
    ilk_items_free(items);
    if (st == ILK_OK)
        st = ilk_consumer_settle(consumer, ILK_RECIPES_DONE, err);
    if (st == ILK_OK && ilk_consumer_pop(&items, consumer, 5, err) != ILK_OK)
        st = err->code == ILK_ETIMEOUT ? ILK_OK : (ilk_status)err->code;
    if (st == ILK_OK)
        st = ilk_consumer_leave(consumer, err);
    ilk_consumer_free(consumer);
    return st;
}

static ilk_status listen(ilk_error *err)
{
    ilk_listener *listener = NULL;
    ilk_items *items = NULL;
    int64_t heard = 0;
    ilk_status st = ilk_listener_open(&listener, client, "ch", 2, "me", 2, err);

    if (st == ILK_OK && ilk_listener_wait(&items, listener, 30, err) != ILK_OK)
        st = err->code == ILK_ETIMEOUT ? ILK_OK : (ilk_status)err->code;
    if (st == ILK_OK)
        st = ilk_recipes_signal(&heard, client, "ch", 2, 1, "x", 1, err);
    if (st == ILK_OK && heard)
        st = ilk_listener_wait(&items, listener, 1000, err);
    ilk_items_free(items);
    if (listener)
        ilk_listener_leave(NULL, NULL, listener, 0, NULL);
    ilk_listener_free(listener);
    return st;
}

static const scene scenes[] = {{"lists", lists},
                               {"safe", safe},
                               {"timed", timed},
                               {"consume", consume},
                               {"listen", listen}};

/* 0 when there was no n-th allocation. */
static int play(const scene *s, long n)
{
    ilk_error err = {0};
    long made;
    ilk_status st;

    fixture_command(&fx, "FLUSHALL");
    ilk__alloc_fail_at(n);
    st = s->run(&err);
    made = ilk__alloc_count();
    ilk__alloc_fail_at(0);
    if (st != ILK_OK
        && !(made >= n
             && (st == ILK_ENOMEM || strstr(err.msg, "no memory") != NULL)))
        fail_msg("%s, allocation %ld: %s: %s", s->name, n, ilk_status_name(st),
                 err.msg);
    assert_status(ILK_OK, ilk_client_ping(client, 3000, &err));
    return made >= n;
}

TEST(recipes_survive_without_memory)
{
    assert_int_equal(0, fixture_start(&fx, NULL));
    client = open_client();
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        for (long n = 1; play(&scenes[i], n); n++)
            assert_true(n < 2000);
    ilk_client_free(client);
    assert_int_equal(0, fixture_stop(&fx));
}
