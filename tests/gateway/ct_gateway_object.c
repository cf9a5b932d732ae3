/* SPDX-License-Identifier: MIT */
/*
 * ct_gateway_object.c -- backends in shared objects: where they are found, and what
 * is wrong with those that do not fit. libinterlock-memory.so and
 * libinterlock-older.so lie beside this program, which contains the library.
 */
#include "fixture.h"
#include "fork_case.h"

#include <interlock.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char directory[] = "/tmp/ilk-backends-XXXXXX";

static int make_directory(void)
{
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void)
{
    fixture_remove(directory);
    return 0;
}

AROUND_ALL(make_directory, remove_directory);

static void write_object(const char *scheme, const char *content)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/libinterlock-%s.so", directory, scheme);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static ilk_status take_a_lock(const char *url, ilk_error *err)
{
    ilk_client *client = NULL;
    ilk_lock *lock = NULL;
    ilk_status st = ilk_client_open(&client, url, NULL, err);

    if (st == ILK_OK)
        st = ilk_lock_open(&lock, client, "n", 1, NULL, err);
    if (st == ILK_OK)
        st = ilk_lock_acquire(lock, patience(5000), err);
    if (st == ILK_OK)
        st = ilk_lock_release(lock, err);
    ilk_lock_free(lock);
    ilk_client_free(client);
    return st;
}

static void assert_refused(const char *url, ilk_status status, const char *text)
{
    ilk_error err = {0};
    ilk_client *client;

    assert_int_equal(ilk_client_open(&client, url, NULL, &err), status);
    assert_null(client);
    if (!strstr(err.msg, text))
        fail_msg("\"%s\" is not in: %s", text, err.msg);
}

/* Found beside the program; a directory that is named comes before. */
TEST(it_is_loaded_when_its_url_is_opened)
{
    ilk_error err = {0};
    pid_t child;

    child = fork_now();
    if (child == 0) {
        demand(!dlopen(ILK_TEST_OBJECTS "/libinterlock-memory.so",
                       RTLD_NOW | RTLD_NOLOAD));
        demand(take_a_lock("memory://", &err) == ILK_OK);
        demand(dlopen(ILK_TEST_OBJECTS "/libinterlock-memory.so",
                      RTLD_NOW | RTLD_NOLOAD)
               != NULL);
        _exit(0);
    }
    assert_ends_well(child);
    child = fork_now();
    if (child == 0) {
        write_object("memory", "no object");
        setenv("INTERLOCK_BACKENDS", directory, 1);
        demand(take_a_lock("memory://", &err) == ILK_EUNSUPPORTED);
        unsetenv("INTERLOCK_BACKENDS");
        demand(take_a_lock("Memory://", &err) == ILK_OK);
        setenv("INTERLOCK_BACKENDS", directory, 1); /* not looked for again */
        demand(take_a_lock("memory://", &err) == ILK_OK);
        _exit(0);
    }
    assert_ends_well(child);
}

TEST(an_object_may_have_two_schemes)
{
    for (int first = 0; first < 2; first++) {
        const pid_t child = fork_now();

        if (child == 0) {
            demand(take_a_lock(first ? "memory://" : "Memory+TLS://", NULL)
                   == ILK_OK);
            demand(take_a_lock(first ? "memory+tls://" : "memory://", NULL)
                   == ILK_OK);
            _exit(0);
        }
        assert_ends_well(child);
    }
}

/* Tests above load in children, those below in this process. */

TEST(a_known_scheme_without_an_object_says_what_to_do)
{
    assert_refused("etcd://h", ILK_EUNSUPPORTED,
                   "built without etcd: install libnghttp2-dev and ");
    assert_refused("ZooKeeper://h", ILK_EUNSUPPORTED,
                   "built without zookeeper: build again");
    assert_refused("mysql://h", ILK_EUNSUPPORTED, "INTERLOCK_BACKENDS");
    assert_refused("etcd+tls://h", ILK_EUNSUPPORTED,
                   "built without etcd: install libnghttp2-dev and ");
    assert_refused("mysql://h", ILK_EUNSUPPORTED, "libinterlock-mysql.so");
    assert_refused("mariadb://h", ILK_EUNSUPPORTED, "libinterlock-mysql.so");
}

TEST(a_scheme_that_nobody_knows_is_refused_by_the_parser)
{
    static const char *const urls[] = {
        "memories://h", "http://h",
        "://h",         "memory:/h",
        "me.mory://h",  "memory",
        "../../x://",   "",
        "etcd:h",       "averyveryverylongscheme://h",
        "+memory://h",  "memories+tls://h"};

    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++)
        assert_refused(urls[i], ILK_EINVAL, "URL: it must begin with redis://");
}

TEST(an_object_of_another_version_is_refused)
{
    assert_refused("older://", ILK_EUNSUPPORTED, "has version 0.0.1, and ");
    assert_refused("older://", ILK_EUNSUPPORTED, ilk_version());
}

TEST(an_object_that_is_none_is_refused)
{
    char path[128];

    setenv("INTERLOCK_BACKENDS", directory, 1);
    write_object("garbage", "no object");
    assert_refused("garbage://", ILK_EUNSUPPORTED, "cannot load the backend: ");
    write_object("etcd", "no object");
    assert_refused("etcd://", ILK_EUNSUPPORTED, "cannot load the backend: ");
    snprintf(path, sizeof path, "%s/libinterlock-clock.so", directory);
    assert_int_equal(symlink(ILK_TEST_OBJECTS "/libchaos_clock.so", path), 0);
    assert_refused("clock://", ILK_EUNSUPPORTED, "is no backend");
    snprintf(path, sizeof path, "%s/libinterlock-other.so", directory);
    assert_int_equal(symlink(ILK_TEST_OBJECTS "/libinterlock-memory.so", path),
                     0);
    assert_refused("other://", ILK_EUNSUPPORTED, "has no backend for other://");
    assert_refused("other+tls://", ILK_EUNSUPPORTED,
                   "has no backend for other+tls://");
    unsetenv("INTERLOCK_BACKENDS");
    assert_refused("memory+udp://", ILK_EUNSUPPORTED,
                   "has no backend for memory+udp://");
}

TEST(a_directory_of_backends_belongs_to_its_user)
{
    setenv("INTERLOCK_BACKENDS", "/nowhere", 1);
    assert_refused("etcd://", ILK_EINVAL, "there is no directory /nowhere");
    setenv("INTERLOCK_BACKENDS", "/dev/null", 1);
    assert_refused("etcd://", ILK_EINVAL, "there is no directory /dev/null");
    setenv("INTERLOCK_BACKENDS", directory, 1);
    assert_int_equal(chmod(directory, 01777), 0); /* sticky is not enough */
    assert_refused("garbage://", ILK_EINVAL, "other users may write to ");
    assert_int_equal(chmod(directory, 0700), 0);
    write_object("garbage", "no object");
    assert_refused("garbage://", ILK_EUNSUPPORTED, "cannot load the backend: ");
    unsetenv("INTERLOCK_BACKENDS");
}

/* Its libmariadb.so has a version that no machine has. */
TEST(an_object_whose_client_library_is_missing_names_its_package)
{
    setenv("INTERLOCK_BACKENDS", ILK_TEST_OBJECTS "/orphan", 1);
    assert_refused("mysql://", ILK_EUNSUPPORTED,
                   "the client library of mysql is missing; on Debian install "
                   "libmariadb3: ");
    assert_refused("mariadb://", ILK_EUNSUPPORTED, "libmariadb.so.999");
    assert_refused("etcd://", ILK_EUNSUPPORTED,
                   "the client library of etcd is missing; on Debian install "
                   "libnghttp2-14: ");
    unsetenv("INTERLOCK_BACKENDS");
}

enum { THREADS = 8 };

static void *open_one(void *out)
{
    *(ilk_status *)out = take_a_lock("memory://", NULL);
    return NULL;
}

TEST(threads_may_load_it_at_once)
{
    pthread_t threads[THREADS];
    ilk_status found[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_one, &found[i]),
                         0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(found[i], ILK_OK);
    }
}

TEST(a_child_of_threads_has_it_as_well)
{
    pid_t child;

#ifdef __SANITIZE_THREAD__
    skip_because("ThreadSanitizer lets no child of threads start a thread");
#endif
    child = fork_now();
    if (child == 0) {
        demand(take_a_lock("memory://", NULL) == ILK_OK);
        demand(take_a_lock("older://", NULL) == ILK_EUNSUPPORTED);
        _exit(0);
    }
    assert_ends_well(child);
}
