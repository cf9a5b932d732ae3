/* SPDX-License-Identifier: MIT */
/* ct_handle_names.c -- each handle returns the name that it was opened with. */
#include "client_case.h"

AROUND_ALL(client_setup, client_teardown);

static ilk_error err;

typedef struct bytes {
    const char *data;
    size_t len;
} bytes;

/* In each form of side keys (redis/keys.h), and with a NUL. */
static const bytes names[] = {
    {"orders", 6}, {"{a}b", 4}, {"x}y", 3}, {"a\0b", 3}};

enum { NAMES = sizeof names / sizeof names[0] };

static void assert_name(const bytes *expected, const char *name, size_t len)
{
    assert_int_equal(expected->len, len);
    assert_memory_equal(expected->data, name, len);
}

#define opens(noun, ...)                                                       \
    for (const bytes *name = names; name < names + NAMES; name++) {            \
        ilk_##noun *handle = NULL;                                             \
        const char *got;                                                       \
        size_t len = 99;                                                       \
                                                                               \
        assert_status(ILK_OK, __VA_ARGS__);                                    \
        got = ilk_##noun##_name(handle, &len);                                 \
        assert_name(name, got, len);                                           \
        assert_ptr_equal(got, ilk_##noun##_name(handle, NULL));                \
        ilk_##noun##_free(handle);                                             \
        assert_null(ilk_##noun##_name(NULL, &len));                            \
        assert_int_equal(0, len);                                              \
    }

TEST(of_holds)
{
    ilk_lock_opts redisson;

    ilk_lock_opts_init(&redisson, sizeof redisson);
    redisson.layout = ILK_LAYOUT_REDISSON;
    opens(lock,
          ilk_lock_open(&handle, client, name->data, name->len, NULL, &err));
    opens(lock, ilk_lock_open(&handle, client, name->data, name->len, &redisson,
                              &err));
    opens(lock, ilk_rwlock_read_open(&handle, client, name->data, name->len,
                                     NULL, &err));
    opens(semaphore, ilk_semaphore_open(&handle, client, name->data, name->len,
                                        2, NULL, &err));
    opens(election, ilk_election_open(&handle, client, name->data, name->len,
                                      NULL, &err));
}

TEST(of_states_and_signals)
{
    opens(event,
          ilk_event_open(&handle, client, name->data, name->len, NULL, &err));
    opens(register,
          ilk_register_open(&handle, client, name->data, name->len, &err));
    opens(latch, ilk_latch_open(&handle, client, name->data, name->len, 2, NULL,
                                &err));
    opens(barrier, ilk_barrier_open(&handle, client, name->data, name->len, 2,
                                    NULL, &err));
    opens(signal,
          ilk_signal_open(&handle, client, name->data, name->len, NULL, &err));
}

TEST(of_queues)
{
    const void *data[NAMES];
    size_t lens[NAMES], len = 99;
    ilk_queue *queue = NULL;

    for (int i = 0; i < NAMES; i++) {
        data[i] = names[i].data;
        lens[i] = names[i].len;
    }
    assert_status(ILK_OK, ilk_queue_open_many(&queue, client, data, lens, NAMES,
                                              NULL, &err));
    for (int i = 0; i < NAMES; i++) {
        const char *got = ilk_queue_name(queue, (size_t)i, &len);

        assert_name(&names[i], got, len);
    }
    assert_null(ilk_queue_name(queue, NAMES, &len));
    assert_int_equal(0, len);
    assert_null(ilk_queue_name(NULL, 0, NULL));
    ilk_queue_free(queue);
}
