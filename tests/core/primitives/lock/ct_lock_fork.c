/* SPDX-License-Identifier: MIT */
/* ct_lock_fork.c -- a process that forks while it holds or waits. */
#include "fork_case.h"
#include "lock_thread.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

AROUND_ALL(server_setup, server_teardown);

typedef struct family {
    ilk_client *client;
    ilk_lock *held, *idle, *reader;
    ilk_lock_many *many;
} family;

static void open_family(family *f)
{
    const void *names[] = {"m1", "m2"};
    const size_t lens[] = {2, 2};
    ilk_error err = {0};

    f->client = open_client();
    f->held = open_lock_with(f->client, "held", patience(2000), 0);
    f->idle = open_lock(f->client, "idle");
    assert_status(ILK_OK, ilk_rwlock_read_open(&f->reader, f->client, "rw", 2,
                                               NULL, &err));
    assert_status(ILK_OK, ilk_lock_many_open(&f->many, f->client, names, lens,
                                             2, NULL, &err));
    assert_status(ILK_OK, ilk_lock_acquire(f->held, 0, &err));
    assert_status(ILK_OK, ilk_lock_many_acquire(f->many, 0, &err));
    fixture_command(&fx, "SET idle x");
    assert_status(ILK_ETIMEOUT,
                  ilk_lock_acquire(f->idle, 50, &err)); /* inbox */
    fixture_command(&fx, "DEL idle");
}

static void free_family(family *f)
{
    ilk_lock_free(f->held);
    ilk_lock_free(f->idle);
    ilk_lock_free(f->reader);
    ilk_lock_many_free(f->many);
    ilk_client_free(f->client);
}

static void demand_forked(const family *f)
{
    ilk_client_stats stats = {.size = sizeof stats};
    ilk_notification notification = {.size = sizeof notification};
    ilk_lock *lock = NULL;
    ilk_info *info = NULL;
    ilk_list *list = NULL;
    ilk_value *value = NULL;
    int fd;

    demand(ilk_lock_acquire(f->idle, 0, NULL) == ILK_EFORKED);
    demand(ilk_lock_acquire(f->idle, -1, NULL) == ILK_EFORKED);
    demand(ilk_lock_acquire(f->reader, -1, NULL) == ILK_EFORKED);
    demand(ilk_lock_release(f->held, NULL) == ILK_EFORKED);
    demand(ilk_lock_extend(f->held, 0, NULL) == ILK_EFORKED);
    demand(ilk_lock_check(f->held, NULL) == ILK_EFORKED);
    demand(ilk_lock_cancel(f->held, NULL) == ILK_EFORKED);
    demand(ilk_lock_detach(f->held, NULL) == ILK_EFORKED);
    demand(ilk_lock_adopt(f->idle, "t", 1, NULL) == ILK_EFORKED);
    demand(!ilk_lock_held(f->held) && !ilk_lock_remaining_ms(f->held));
    demand(ilk_lock_many_acquire(f->many, 0, NULL) == ILK_EFORKED);
    demand(ilk_lock_many_release(f->many, NULL) == ILK_EFORKED);
    demand(ilk_lock_many_extend(f->many, 0, NULL) == ILK_EFORKED);
    demand(ilk_lock_many_check(f->many, NULL) == ILK_EFORKED);
    demand(ilk_lock_many_cancel(f->many, NULL) == ILK_EFORKED);
    demand(!ilk_lock_many_held(f->many));
    demand(ilk_lock_open(&lock, f->client, "x", 1, NULL, NULL) == ILK_EFORKED);
    demand(ilk_lock_break(f->client, "held", 4, NULL, 0, NULL) == ILK_EFORKED);
    demand(ilk_inspect(&info, f->client, "held", 4, NULL) == ILK_EFORKED);
    demand(ilk_list_open(&list, f->client, NULL, 0, NULL) == ILK_EFORKED);
    demand(ilk_guard_get(&value, f->client, "g", 1, 0, NULL) == ILK_EFORKED);
    demand(ilk_guard_set(f->client, "g", 1, 0, "", 0, NULL) == ILK_EFORKED);
    demand(ilk_guard_remove(f->client, "g", 1, NULL) == ILK_EFORKED);
    demand(ilk_client_ping(f->client, 0, NULL) == ILK_EFORKED);
    demand(ilk_client_close(f->client, NULL) == ILK_EFORKED);
    demand(ilk_client_notification_fd(f->client, &fd, NULL) == ILK_EFORKED);
    demand(ilk_client_next_notification(f->client, &notification, NULL)
           == ILK_EFORKED);
    demand(ilk_client_get_stats(f->client, &stats, NULL) == ILK_EFORKED);
    ilk_client_interrupt(f->client);
}

TEST(child_is_refused_and_the_parent_still_holds)
{
    ilk_error err = {0};
    ilk_client_stats before = {.size = sizeof before}, after = before;
    family f;
    pid_t pid;

    open_family(&f);
    while (before.renewals == 0) { /* then all connections are there */
        fixture_sleep_ms(20);
        ilk_client_get_stats(f.client, &before, NULL);
    }
    pid = fork_now();
    if (pid == 0) {
        demand_forked(&f);
        free_family(&f); /* quietly */
        _exit(0);
    }
    assert_ends_well(pid);

    do { /* renewals go on, on the parent's connections */
        fixture_sleep_ms(20);
        ilk_client_get_stats(f.client, &after, NULL);
    } while (ilk_lock_held(f.held) && after.renewals < before.renewals + 4);
    assert_status(ILK_OK, ilk_lock_check(f.held, &err));
    assert_int_equal(1, ilk_lock_held(f.held));
    assert_status(ILK_OK, ilk_client_ping(f.client, -1, &err));
    assert_status(ILK_OK, ilk_lock_release(f.held, &err));
    assert_status(ILK_OK, ilk_lock_many_release(f.many, &err));
    ilk_client_get_stats(f.client, &after, NULL);
    assert_int_equal(before.connects, after.connects);
    free_family(&f);
}

/* Forks that run no atfork handlers. */
static pid_t fork_by_clone(void)
{
#ifdef SYS_clone
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#else
    return -1;
#endif
}

static pid_t fork_without_handlers(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    return _Fork();
#else
    return -1;
#endif
}

TEST(child_without_atfork_handlers_is_refused)
{
    pid_t (*const forks[])(void) = {fork_by_clone, fork_without_handlers};
    ilk_error err = {0};
    family f;

    open_family(&f);
    for (int i = 0; i < 2; i++) {
        pid_t pid = forks[i]();

        if (pid == 0) {
            demand_forked(&f);
            if ((pid = forks[i]()) == 0) /* and its own child */
                _exit(ilk_client_ping(f.client, 0, NULL) != ILK_EFORKED);
            demand(waitpid(pid, &i, 0) == pid && i == 0);
            _exit(0);
        }
        if (pid > 0)
            assert_ends_well(pid);
        assert_int_equal(1, ilk_lock_held(f.held));
    }
    assert_status(ILK_OK, ilk_lock_check(f.held, &err));
    assert_status(ILK_OK, ilk_lock_release(f.held, &err));
    assert_status(ILK_OK, ilk_lock_many_release(f.many, &err));
    free_family(&f);
}

TEST(child_sends_nothing)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock_with(client, "quiet", 60000, 0);
    ilk_error err = {0};
    pid_t pid;

    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    fixture_command(&fx, "CONFIG RESETSTAT");
    pid = fork_now();
    if (pid == 0) {
        demand(ilk_lock_release(lock, NULL) == ILK_EFORKED);
        ilk_lock_free(lock);
        ilk_client_free(client);
        _exit(0);
    }
    assert_ends_well(pid);
    assert_null(strstr(fixture_command(&fx, "INFO commandstats"), "eval"));
    assert_null(strstr(fx.reply, "quit"));
    assert_string_equal(ilk_lock_token(lock),
                        fixture_command(&fx, "GET quiet"));
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(fork_while_another_thread_waits)
{
    ilk_client *client = open_client();
    ilk_lock *a = open_lock(client, "fw"), *b = open_lock(client, "fw");
    ilk_error err = {0};
    taker t;

    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    start_taker(&t, b, -1);
    await_waiters("fw", 1);
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork_now();

        if (pid == 0) {
            demand(ilk_lock_acquire(b, 0, NULL) == ILK_EFORKED);
            demand(ilk_lock_cancel(b, NULL) == ILK_EFORKED);
            ilk_lock_free(b);
            ilk_lock_free(a);
            ilk_client_free(client);
            _exit(0);
        }
        assert_ends_well(pid);
    }
    assert_int_equal(1, fixture_int(&fx, "ZCARD ilk:lock:wait:{fw}"));
    assert_false(atomic_load(&t.done));
    assert_status(ILK_OK, ilk_lock_release(a, &err));
    assert_took(ILK_OK, &t);
    ilk_lock_free(a);
    ilk_lock_free(b);
    ilk_client_free(client);
}

static void *ping_on(void *arg)
{
    while (ilk_client_ping(arg, -1, NULL) == ILK_OK)
        continue;
    return NULL;
}

/* The child's copies of mutexes may be locked for ever. */
TEST(fork_while_other_threads_call)
{
    ilk_client *client = open_client();
    ilk_lock *lock = open_lock(client, "calls");
    pthread_t threads[4];
    ilk_error err = {0};

#ifdef __SANITIZE_ADDRESS__
    /* Its allocator's mutexes may be locked in the child as well. */
    ilk_lock_free(lock);
    ilk_client_free(client);
    skip();
#endif
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, ping_on, client);
    for (int i = 0; i < 30; i++) {
        pid_t pid = fork_now();

        if (pid == 0) {
            alarm(10);
            demand(ilk_lock_acquire(lock, 0, NULL) == ILK_EFORKED);
            if (i % 2) {
                demand(ilk_client_reopen(client, NULL) == ILK_OK);
                demand(ilk_client_ping(client, -1, NULL) == ILK_OK);
            }
            ilk_lock_free(lock);
            ilk_client_free(client);
            _exit(0);
        }
        assert_ends_well(pid);
    }
    assert_status(ILK_OK, ilk_client_close(client, &err));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ilk_lock_free(lock);
    ilk_client_free(client);
}

static void demand_own_life(family *f, const char *parents_id)
{
    ilk_lock *mine = NULL;

    demand(ilk_client_reopen(f->client, NULL) == ILK_OK);
    demand(strcmp(ilk_client_id(f->client), parents_id) != 0);
    demand(ilk_client_reopen(f->client, NULL) == ILK_OK); /* harmless */
    demand(!ilk_lock_held(f->held));
    demand(ilk_lock_release(f->held, NULL) == ILK_EFORKED); /* once */
    demand(ilk_lock_release(f->held, NULL) == ILK_ENOTOWNER);
    demand(ilk_lock_acquire(f->held, 0, NULL) == ILK_EBUSY);
    demand(ilk_lock_acquire(f->held, 50, NULL) == ILK_ETIMEOUT);
    demand(ilk_lock_many_release(f->many, NULL) == ILK_EFORKED);
    demand(ilk_lock_many_acquire(f->many, 0, NULL) == ILK_EBUSY);
    demand(ilk_lock_acquire(f->idle, 0, NULL) == ILK_OK);
    demand(ilk_lock_release(f->idle, NULL) == ILK_OK);
    demand(ilk_lock_acquire(f->reader, 0, NULL) == ILK_OK);
    demand(ilk_lock_release(f->reader, NULL) == ILK_OK);
    demand(ilk_lock_open(&mine, f->client, "mine", 4, NULL, NULL) == ILK_OK);
    demand(ilk_lock_acquire(mine, 1000, NULL) == ILK_OK);
    demand(ilk_lock_release(mine, NULL) == ILK_OK);
    ilk_lock_free(mine);
}

TEST(reopened_client_lives_its_own_life)
{
    ilk_error err = {0};
    char id[32];
    family f;
    pid_t pid;

#ifdef __SANITIZE_THREAD__
    skip_because("ThreadSanitizer lets no child of threads start a thread");
#endif
    open_family(&f);
    snprintf(id, sizeof id, "%s", ilk_client_id(f.client));
    assert_status(ILK_OK, ilk_client_reopen(f.client, &err)); /* no fork */
    assert_string_equal(id, ilk_client_id(f.client));
    pid = fork_now();
    if (pid == 0) {
        demand_own_life(&f, id);
        free_family(&f);
        _exit(0);
    }
    assert_ends_well(pid);
    assert_status(ILK_OK, ilk_lock_check(f.held, &err));
    assert_status(ILK_OK, ilk_lock_release(f.held, &err));
    assert_status(ILK_OK, ilk_lock_many_release(f.many, &err));
    free_family(&f);
}
