/* SPDX-License-Identifier: MIT */
/* ct_inspect.c -- looking at a name: who holds it and who waits. */
#include "lock_thread.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

AROUND_ALL(server_setup, server_teardown);

static ilk_client *open_labelled(const char *label)
{
    ilk_client_opts opts = {.size = sizeof opts, .label = label};
    ilk_client *client = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_client_open(&client, fx.unix_url, &opts, &err));
    return client;
}

static ilk_lock *open_in_layout(ilk_client *client, const char *name,
                                int32_t layout)
{
    ilk_lock_opts opts = {.size = sizeof opts, .layout = layout};
    ilk_lock *lock = NULL;
    ilk_error err = {0};

    assert_status(
        ILK_OK, ilk_lock_open(&lock, client, name, strlen(name), &opts, &err));
    return lock;
}

static ilk_info *look(ilk_client *client, const char *name)
{
    ilk_info *info = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_inspect(&info, client, name, strlen(name), &err));
    assert_non_null(info);
    return info;
}

static void assert_holder(const ilk_info *info, const char *token,
                          const char *label)
{
    size_t len = 0;

    assert_string_equal(token, ilk_info_holder(info, &len));
    assert_int_equal(strlen(token), len);
    assert_string_equal(label, ilk_info_label(info));
}

/* Held for some moments by the server's clock, which is ours as well. */
static void assert_recent(const ilk_info *info)
{
    char text[64];
    long long now = 0;

    snprintf(text, sizeof text, "%s", fixture_command(&fx, "TIME"));
    assert_int_equal(1, sscanf(text, "%lld", &now));
    assert_in_range(ilk_info_since_ms(info), (now - 30) * 1000,
                    (now + 1) * 1000);
}

/* ---- the states --------------------------------------------------------- */

TEST_WITH(server_flush, NULL, free_name_has_no_holder)
{
    ilk_client *client = open_client();
    ilk_info *info = look(client, "free");

    assert_int_equal(ILK_INFO_FREE, ilk_info_get_state(info));
    assert_holder(info, "", "");
    assert_int_equal(0, ilk_info_since_ms(info));
    assert_int_equal(0, ilk_info_ttl_ms(info));
    assert_int_equal(0, ilk_info_fence(info));
    assert_int_equal(0, ilk_info_readers(info));
    assert_int_equal(0, ilk_info_waiters(info));
    assert_int_equal(0, ilk_info_listed(info));
    assert_string_equal("", ilk_info_waiter_label(info, 0));
    assert_string_equal("", ilk_info_waiter_token(info, 0));
    assert_int_equal(0, fixture_int(&fx, "DBSIZE")); /* nothing was written */
    ilk_info_free(info);
    ilk_client_free(client);
}

TEST(a_held_name_has_its_holder_and_its_time)
{
    ilk_client *client = open_labelled("till:7"), *other = open_client();
    ilk_lock *lock = open_lock_with(client, "held", 20000, 0);
    ilk_error err = {0};
    ilk_info *info;

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    info = look(other, "held");
    assert_int_equal(ILK_INFO_HELD, ilk_info_get_state(info));
    assert_holder(info, ilk_lock_token(lock), "till:7");
    assert_recent(info);
    assert_in_range(ilk_info_ttl_ms(info), 10000, 20000);
    assert_int_equal(ilk_lock_fence(lock), ilk_info_fence(info));
    assert_int_equal(0, ilk_info_readers(info));
    ilk_info_free(info);

    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    info = look(other, "held"); /* free again, but the fence is on record */
    assert_int_equal(ILK_INFO_FREE, ilk_info_get_state(info));
    assert_holder(info, "", "");
    assert_int_equal(0, ilk_info_since_ms(info));
    assert_int_equal(ilk_lock_fence(lock), ilk_info_fence(info));
    ilk_info_free(info);
    ilk_lock_free(lock);
    ilk_client_free(client);
    ilk_client_free(other);
}

TEST(label_is_host_and_process_by_default)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "label");
    char host[256] = "", expected[300];
    ilk_error err = {0};
    ilk_info *info;

    gethostname(host, sizeof host - 1);
    snprintf(expected, sizeof expected, "%s:%ld", host, (long)getpid());
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    info = look(client, "label");
    assert_string_equal(expected, ilk_info_label(info));
    ilk_info_free(info);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(foreign_holder_is_recognised)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "foreign");
    ilk_error err = {0};
    ilk_info *info;
    size_t len = 0;

    /* Our record of an earlier hold does not make a stranger ours. */
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    fixture_argv(&fx, 5,
                 (const char *[]){"SET", "foreign", "a\0b\xff", "PX", "60000"},
                 (const size_t[]){3, 7, 4, 2, 5});
    info = look(client, "foreign");
    assert_int_equal(ILK_INFO_FOREIGN, ilk_info_get_state(info));
    assert_memory_equal("a\0b\xff", ilk_info_holder(info, &len), 5);
    assert_int_equal(4, len);
    assert_string_equal("", ilk_info_label(info));
    assert_int_equal(0, ilk_info_since_ms(info));
    assert_in_range(ilk_info_ttl_ms(info), 30000, 60000);
    assert_int_equal(ilk_lock_fence(lock), ilk_info_fence(info));
    ilk_info_free(info);

    fixture_command(&fx, "PERSIST foreign");
    info = look(client, "foreign");
    assert_int_equal(-1, ilk_info_ttl_ms(info));
    ilk_info_free(info);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(readers_are_counted)
{
    ilk_client *client = open_labelled("library");
    ilk_lock_opts opts = {.size = sizeof opts, .ttl_ms = 20000};
    ilk_lock *readers[3];
    ilk_error err = {0};
    ilk_info *info;

    for (int i = 0; i < 3; i++) {
        opts.ttl_ms += 10000; /* the first of them ends first */
        assert_status(ILK_OK, ilk_rwlock_read_open(&readers[i], client, "read",
                                                   4, &opts, &err));
        assert_status(ILK_OK, ilk_lock_acquire(readers[i], 0, &err));
    }
    info = look(client, "read");
    assert_int_equal(ILK_INFO_READERS, ilk_info_get_state(info));
    assert_int_equal(3, ilk_info_readers(info));
    assert_holder(info, ilk_lock_token(readers[0]), "library");
    assert_int_equal(ilk_lock_fence(readers[2]), ilk_info_fence(info));
    assert_in_range(ilk_info_ttl_ms(info), 40000, 50000);
    ilk_info_free(info);

    assert_status(ILK_OK, ilk_lock_release(readers[0], &err));
    info = look(client, "read");
    assert_int_equal(2, ilk_info_readers(info));
    assert_string_equal(ilk_lock_token(readers[1]),
                        ilk_info_holder(info, NULL));
    ilk_info_free(info);
    for (int i = 0; i < 3; i++)
        ilk_lock_free(readers[i]);
    ilk_client_free(client);
}

TEST(redisson_layout_is_recognised)
{
    ilk_client *client = open_labelled("java");
    ilk_lock *lock = open_in_layout(client, "hash", ILK_LAYOUT_REDISSON);
    ilk_error err = {0};
    ilk_info *info;

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    info = look(client, "hash");
    assert_int_equal(ILK_INFO_REDISSON, ilk_info_get_state(info));
    assert_holder(info, ilk_lock_token(lock), "java");
    assert_int_equal(ilk_lock_fence(lock), ilk_info_fence(info));
    assert_recent(info);
    ilk_info_free(info);
    assert_status(ILK_OK, ilk_lock_release(lock, &err));

    fixture_command(&fx, "HSET hash 8f0e:12 2"); /* Redisson's own */
    fixture_command(&fx, "PEXPIRE hash 30000");
    info = look(client, "hash");
    assert_int_equal(ILK_INFO_REDISSON, ilk_info_get_state(info));
    assert_holder(info, "8f0e:12", "");
    assert_int_equal(0, ilk_info_since_ms(info));
    ilk_info_free(info);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(a_key_that_is_no_lock_is_a_wrong_type)
{
    ilk_client *client = open_client();
    ilk_info *info = look(client, "type"), *before = info;
    ilk_error err = {0};

    fixture_command(&fx, "RPUSH list x");
    assert_status(ILK_ETYPE, ilk_inspect(&info, client, "list", 4, &err));
    assert_null(info);
    assert_string_equal("the key is a list, not a lock", err.msg);
    fixture_command(&fx, "HSET user name x age 7"); /* no lock of Redisson */
    assert_status(ILK_ETYPE, ilk_inspect(&info, client, "user", 4, &err));
    ilk_info_free(before);
    ilk_client_free(client);
}

TEST(arguments_are_checked)
{
    ilk_client *client = open_client();
    char long_name[ILK_NAME_MAX + 1];
    ilk_list *list = NULL;
    ilk_info *info = NULL;
    ilk_error err = {0};

    memset(long_name, 'n', sizeof long_name);
    assert_status(ILK_EINVAL, ilk_inspect(NULL, client, "a", 1, &err));
    assert_status(ILK_EINVAL, ilk_inspect(&info, NULL, "a", 1, &err));
    assert_status(ILK_EINVAL, ilk_inspect(&info, client, "", 0, &err));
    assert_status(ILK_EINVAL, ilk_inspect(&info, client, "ilk:a", 5, &err));
    assert_status(ILK_EINVAL, ilk_inspect(&info, client, long_name,
                                          sizeof long_name, &err));
    assert_null(info);
    assert_status(ILK_EINVAL, ilk_list_open(NULL, client, NULL, 0, &err));
    assert_status(ILK_EINVAL, ilk_list_open(&list, NULL, NULL, 0, &err));
    assert_status(ILK_EINVAL, ilk_list_open(&list, client, long_name,
                                            sizeof long_name, &err));
    assert_null(list);
    ilk_info_free(NULL);
    ilk_list_free(NULL);
    ilk_client_free(client);
}

/* ---- those who wait ----------------------------------------------------- */

TEST(waiters_are_listed_in_their_order)
{
    const char *labels[] = {"till:0", "till:1", "till:2"};
    ilk_client *client = open_client(), *clients[3];
    ilk_lock *holder = open_lock(client, "line"), *locks[3];
    ilk_error err = {0};
    ilk_info *info;
    taker t[3];

    assert_status(ILK_OK, ilk_lock_acquire(holder, 0, &err));
    for (int i = 0; i < 3; i++) {
        clients[i] = open_labelled(labels[i]);
        locks[i] = open_lock(clients[i], "line");
        start_taker(&t[i], locks[i], -1);
        await_waiters("line", i + 1);
    }
    info = look(client, "line");
    assert_int_equal(3, ilk_info_waiters(info));
    assert_int_equal(3, ilk_info_listed(info));
    assert_status(ILK_OK, ilk_lock_release(holder, &err));
    for (int i = 0; i < 3; i++) {
        assert_took(ILK_OK, &t[i]);
        assert_string_equal(labels[i], ilk_info_waiter_label(info, (size_t)i));
        assert_string_equal(ilk_lock_token(locks[i]),
                            ilk_info_waiter_token(info, (size_t)i));
        assert_status(ILK_OK, ilk_lock_release(locks[i], &err));
        ilk_lock_free(locks[i]);
        ilk_client_free(clients[i]);
    }
    assert_string_equal("", ilk_info_waiter_token(info, 3));
    ilk_info_free(info);
    ilk_lock_free(holder);
    ilk_client_free(client);
}

TEST(long_queue_is_counted_and_its_head_listed)
{
    ilk_client *client = open_client();
    ilk_info *info;

    fixture_command(&fx, "SET crowd someone PX 60000");
    for (int i = 0; i < 105; i++) {
        char entry[80];

        snprintf(entry, sizeof entry, "1 g %016x %x %032x 30000 1 host:%d", 7,
                 i, i, i);
        fixture_call(&fx, "ZADD", "ilk:lock:wait:{crowd}",
                     (char[4]){(char)('1' + i / 100), (char)('0' + i / 10 % 10),
                               (char)('0' + i % 10), 0},
                     entry, (char *)NULL);
    }
    info = look(client, "crowd");
    assert_int_equal(105, ilk_info_waiters(info));
    assert_int_equal(100, ilk_info_listed(info));
    assert_string_equal("host:0", ilk_info_waiter_label(info, 0));
    assert_string_equal("host:99", ilk_info_waiter_label(info, 99));
    assert_string_equal("", ilk_info_waiter_label(info, 100));
    ilk_info_free(info);
    ilk_client_free(client);
}
