/* SPDX-License-Identifier: MIT */
/* ut_client_fork.c -- a forked child frees a client whose mutex the parent had
 * locked. */
/* link: -Wl,--wrap=pthread_mutex_destroy */
#include "client/client.h"
#include "fork_case.h"

#include <pthread.h>

int __real_pthread_mutex_destroy(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex);

static int destroyed_locked;

/* POSIX does not define what happens to a locked mutex. */
int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    if (pthread_mutex_trylock(mutex) == 0)
        pthread_mutex_unlock(mutex);
    else
        destroyed_locked = 1;
    return __real_pthread_mutex_destroy(mutex);
}

/* It does not connect, so it needs no server. */
static ilk_client *open_lazy_client(void)
{
    ilk_client *client = NULL;
    ilk_client_opts opts;
    ilk_error err = {0};

    ilk_client_opts_init(&opts, sizeof opts);
    opts.flags = ILK_CLIENT_LAZY;
    assert_int_equal(ILK_OK,
                     ilk_client_open(&client, "unix:///nowhere", &opts, &err));
    return client;
}

TEST(a_child_destroys_no_mutex_of_its_parents)
{
    ilk_client *client = open_lazy_client();
    pid_t pid;

    pthread_mutex_lock(&client->revival); /* as a thread that revives */
    pid = fork_now();
    if (pid == 0) {
        ilk_client_free(client);
        demand(!destroyed_locked);
        _exit(0);
    }
    pthread_mutex_unlock(&client->revival);
    assert_ends_well(pid);
    ilk_client_free(client);
    assert_false(destroyed_locked);
}
