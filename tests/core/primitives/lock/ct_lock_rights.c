/* SPDX-License-Identifier: MIT */
/* ct_lock_rights.c -- users who may not: passwords, commands, keys, channels.
 * And the smallest set of rights with which everything works. */
#include "fork_case.h"
#include "lock_thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

AROUND_ALL(server_setup, server_teardown);

#define SECRET "hush-7f3a"

/*
 * The rights that a user of locks needs, and no others:
 *
 *   keys      the names themselves and ilk:*
 *   channel   ilk:inbox:*
 *   commands  EVALSHA, EVAL and SUBSCRIBE to ask; the rest is what the scripts
 *             run: since Redis 7 that needs the user's rights, too
 *
 * HELLO and AUTH need no right. PING, CLIENT SETNAME and SCAN are wished for:
 * without them ilk_client_ping() and ilk_list_open() are ILK_EAUTH and the
 * connections have no name.
 */
#define SCRIPTS_RUN                                                            \
    "+get +set +del +exists +pttl +pexpire +time +publish +hmget +hset +hdel " \
    "+zadd +zcard +zrange +zrangebyscore +zrem +zremrangebyscore +zrevrange "  \
    "+zscore "
#define INSPECTION "+type +strlen +getrange +hlen +hkeys +hexists +zcount "
#define RIGHTS                                                                 \
    "+evalsha +eval +subscribe " SCRIPTS_RUN INSPECTION                        \
    "+ping +client|setname +scan "

static ilk_client *open_lazy(const char *url)
{
    ilk_client *client = NULL;
    ilk_client_opts opts;
    ilk_error err = {0};

    ilk_client_opts_init(&opts, sizeof opts);
    opts.flags = ILK_CLIENT_LAZY;
    assert_status(ILK_OK, ilk_client_open(&client, url, &opts, &err));
    return client;
}

/* A user with these rights, and a URL to be him. */
static void make_user(char url[256], const char *rights)
{
    assert_string_equal("OK", fixture_command(&fx,
                                              "ACL SETUSER limited reset on "
                                              ">" SECRET " %s",
                                              rights));
    snprintf(url, 256, "redis://limited:" SECRET "@127.0.0.1:%d", fx.port);
}

static void assert_told(const ilk_error *err, const char *text)
{
    if (!strstr(err->msg, text))
        print_error("\"%s\" does not tell \"%s\"\n", err->msg, text);
    assert_non_null(strstr(err->msg, text));
    assert_null(strstr(err->msg, SECRET));
}

/* ---- passwords ---------------------------------------------------------- */

static void assert_refused(const char *url, const char *text)
{
    ilk_client *client = NULL;
    ilk_error err = {0};
    ilk_lock *lock;

    assert_status(ILK_EAUTH, ilk_client_open(&client, url, NULL, &err));
    assert_told(&err, text);
    client = open_lazy(url);
    assert_null(strstr(ilk_client_url(client), SECRET));
    lock = open_lock(client, "refused");
    assert_status(ILK_EAUTH, ilk_lock_acquire(lock, 0, &err));
    assert_told(&err, text);
    assert_status(ILK_EAUTH, ilk_lock_acquire(lock, 1000, &err));
    assert_status(ILK_EAUTH, ilk_lock_acquire(lock, -1, &err));
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(no_password_or_a_wrong_one)
{
    char url[256];

    fixture_command(&fx, "CONFIG SET requirepass right-" SECRET);
    assert_refused(fx.tcp_url, "NOAUTH");
    assert_refused(fx.unix_url, "NOAUTH");
    snprintf(url, sizeof url, "redis://:" SECRET "@127.0.0.1:%d", fx.port);
    assert_refused(url, "WRONGPASS");
    snprintf(url, sizeof url, "redis://no:" SECRET "@127.0.0.1:%d", fx.port);
    assert_refused(url, "WRONGPASS");
    snprintf(url, sizeof url, "%s?protocol=2", fx.tcp_url);
    assert_refused(url, "NOAUTH");
    fixture_call(&fx, "CONFIG", "SET", "requirepass", "", (char *)NULL);
}

/* In a process of its own, with all it has to say in a file. */
static void fail_with_passwords(const char *path)
{
    ilk_client *client = NULL;
    ilk_lock *lock = NULL;
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    char url[256];

    dup2(fd, STDERR_FILENO);
    setenv("INTERLOCK_LOG", "debug", 1);
    snprintf(url, sizeof url, "redis://no:" SECRET "@127.0.0.1:%d", fx.port);
    ilk_client_open(&client, url, NULL, NULL);
    snprintf(url, sizeof url, "redis://limited:" SECRET "@127.0.0.1:%d",
             fx.port);
    if (ilk_client_open(&client, url, NULL, NULL) == ILK_OK
        && ilk_lock_open(&lock, client, "held", 4, NULL, NULL) == ILK_OK)
        _exit(ilk_lock_acquire(lock, 1000, NULL) == ILK_EAUTH ? 0 : 2);
    _exit(1);
}

TEST(password_is_in_no_log)
{
    static char text[65536];
    char url[256], path[160];
    int fd;
    ssize_t len;
    pid_t pid;

    make_user(url, "~* &other:* " RIGHTS);
    fixture_command(&fx, "SET held somebody");
    snprintf(path, sizeof path, "%s/client.log", fx.dir);
    pid = fork_now();
    if (pid == 0)
        fail_with_passwords(path);
    assert_ends_well(pid);

    fd = open(path, O_RDONLY);
    len = read(fd, text, sizeof text - 1);
    close(fd);
    assert_in_range(len, 1, sizeof text - 2);
    text[len] = '\0';
    assert_non_null(strstr(text, "no wake-ups: ")); /* something was logged */
    assert_null(strstr(text, SECRET));
}

/* ---- rights ------------------------------------------------------------- */

TEST(missing_command_is_named)
{
    ilk_client *client;
    ilk_error err = {0};
    ilk_lock *lock;
    char url[256];

    make_user(url, "~* &* " RIGHTS "-evalsha");
    client = open_client_at(url);
    lock = open_lock(client, "command");
    assert_status(ILK_EAUTH, ilk_lock_acquire(lock, 0, &err));
    assert_told(&err, "evalsha");
    make_user(url, "~* &* " RIGHTS "-hset");
    ilk_lock_free(lock);
    ilk_client_free(client);
    client = open_client_at(url);
    lock = open_lock(client, "command");
    assert_status(ILK_EAUTH, ilk_lock_acquire(lock, 1000, &err));
    fixture_command(&fx, "DEL command");
    ilk_lock_free(lock);
    ilk_client_free(client);
}

TEST(missing_key_pattern_is_named)
{
    ilk_client *client;
    ilk_lock *allowed, *other;
    ilk_error err = {0};
    char url[256];

    make_user(url, "~job:* ~ilk:*{job:* &ilk:inbox:* " RIGHTS);
    client = open_client_at(url);
    allowed = open_lock(client, "job:1");
    other = open_lock(client, "other");
    assert_status(ILK_OK, ilk_lock_acquire(allowed, 0, &err));
    assert_status(ILK_OK, ilk_lock_release(allowed, &err));
    assert_status(ILK_EAUTH, ilk_lock_acquire(other, 0, &err));
    assert_told(&err, "key");
    assert_int_equal(0, fixture_int(&fx, "EXISTS other"));
    ilk_lock_free(allowed);
    ilk_lock_free(other);
    ilk_client_free(client);
}

/* Trying needs no inbox; waiting says at once what is missing. */
TEST(wait_without_the_inbox_channel_names_it)
{
    ilk_client *client, *holder = open_client();
    ilk_lock *held = open_lock(holder, "inbox"), *lock;
    ilk_error err = {0};
    int64_t began;
    char url[256];

    make_user(url, "~* &other:* " RIGHTS);
    client = open_client_at(url);
    lock = open_lock(client, "inbox");
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    assert_status(ILK_OK, ilk_lock_release(lock, &err));
    assert_status(ILK_OK, ilk_lock_acquire(held, 0, &err));
    assert_status(ILK_EBUSY, ilk_lock_acquire(lock, 0, &err));
    for (int i = 0; i < 2; i++) {
        began = fixture_now_ms();
        assert_status(ILK_EAUTH, ilk_lock_acquire(lock, i ? -1 : 5000, &err));
        assert_on_time(fixture_now_ms() - began, 0);
        assert_told(&err, "ilk:inbox:");
    }
    make_user(url, "~* &ilk:inbox:* " RIGHTS); /* granted since: works */
    assert_status(ILK_ETIMEOUT, ilk_lock_acquire(lock, 100, &err));
    ilk_lock_free(lock);
    ilk_lock_free(held);
    ilk_client_free(client);
    ilk_client_free(holder);
}

/* A user that may not wake the next still releases, and the error names the right. */
TEST(release_without_publish_frees_the_lock)
{
    ilk_client *client, *other = open_client();
    ilk_lock *lock, *waits = open_lock(other, "wake");
    ilk_error err = {0};
    char url[256];
    taker t;

    make_user(url, "~* &ilk:inbox:* " RIGHTS "-publish");
    client = open_client_at(url);
    lock = open_lock(client, "wake");
    assert_status(ILK_OK, ilk_lock_acquire(lock, 0, &err));
    start_taker(&t, waits, -1);
    await_waiters("wake", 1);

    assert_status(ILK_EAUTH, ilk_lock_release(lock, &err));

    assert_told(&err, "PUBLISH");
    assert_took(ILK_OK, &t); /* by its own looking */
    assert_int_equal(0, ilk_lock_held(lock));
    ilk_lock_free(lock);
    ilk_lock_free(waits);
    ilk_client_free(client);
    ilk_client_free(other);
}

/* ---- the smallest set --------------------------------------------------- */

static void use_lock(ilk_client *client)
{
    ilk_lock *a = open_lock(client, "job:a"), *b = open_lock(client, "job:a");
    ilk_error err = {0};
    taker t;

    assert_status(ILK_OK, ilk_lock_acquire(a, 0, &err));
    assert_status(ILK_OK, ilk_lock_extend(a, 0, &err));
    start_taker(&t, b, 5000);
    await_waiters("job:a", 1);
    assert_status(ILK_OK, ilk_lock_release(a, &err));
    assert_took(ILK_OK, &t);
    assert_status(ILK_ETIMEOUT, ilk_lock_acquire(a, 50, &err));
    assert_status(ILK_OK, ilk_lock_detach(b, &err));
    assert_status(ILK_OK, ilk_lock_adopt(a, ilk_lock_token(b),
                                         strlen(ilk_lock_token(b)), &err));
    assert_status(ILK_OK, ilk_lock_break(client, "job:a", 5, NULL, 0, &err));
    assert_status(ILK_ELOST, ilk_lock_release(a, &err));
    ilk_lock_free(a);
    ilk_lock_free(b);
}

static void use_readers(ilk_client *client)
{
    ilk_lock *reader = NULL, *writer = NULL;
    ilk_error err = {0};
    taker t;

    assert_status(
        ILK_OK, ilk_rwlock_read_open(&reader, client, "job:r", 5, NULL, &err));
    assert_status(
        ILK_OK, ilk_rwlock_write_open(&writer, client, "job:r", 5, NULL, &err));
    assert_status(ILK_OK, ilk_lock_acquire(reader, 0, &err));
    assert_status(ILK_OK, ilk_lock_extend(reader, 0, &err));
    start_taker(&t, writer, 5000);
    await_waiters("job:r", 1);
    assert_status(ILK_OK, ilk_lock_release(reader, &err));
    assert_took(ILK_OK, &t);
    assert_status(ILK_ETIMEOUT, ilk_lock_acquire(reader, 50, &err));
    assert_status(ILK_OK, ilk_lock_release(writer, &err));
    ilk_lock_free(reader);
    ilk_lock_free(writer);
}

static void use_the_rest(ilk_client *client)
{
    const void *names[] = {"job:x", "job:y"};
    const size_t lens[] = {5, 5};
    ilk_lock_many *many = NULL;
    ilk_value *value = NULL;
    ilk_info *info = NULL;
    ilk_list *list = NULL;
    ilk_error err = {0};

    assert_status(
        ILK_OK, ilk_lock_many_open(&many, client, names, lens, 2, NULL, &err));
    assert_status(ILK_OK, ilk_lock_many_acquire(many, patience(1000), &err));
    assert_status(ILK_OK, ilk_lock_many_extend(many, 0, &err));
    assert_status(ILK_OK, ilk_inspect(&info, client, "job:x", 5, &err));
    assert_int_equal(ILK_INFO_HELD, ilk_info_get_state(info));
    assert_status(ILK_OK, ilk_lock_many_release(many, &err));
    assert_status(ILK_OK, ilk_list_open(&list, client, NULL, 0, &err));
    assert_status(ILK_OK, ilk_guard_set(client, "job:v", 5, 9, "x", 1, &err));
    assert_status(ILK_OK, ilk_guard_get(&value, client, "job:v", 5, 9, &err));
    assert_status(ILK_OK, ilk_guard_remove(client, "job:v", 5, &err));
    assert_status(ILK_OK, ilk_client_ping(client, -1, &err));
    ilk_lock_many_free(many);
    ilk_info_free(info);
    ilk_list_free(list);
    ilk_value_free(value);
}

TEST(smallest_set_of_rights_is_enough)
{
    ilk_client *client;
    char url[256];

    make_user(url, "~job:* ~ilk:* &ilk:inbox:* " RIGHTS);
    client = open_client_at(url);
    use_lock(client);
    use_readers(client);
    use_the_rest(client);
    ilk_client_free(client);
    make_user(
        url,
        "~job:* ~ilk:* &ilk:inbox:* +evalsha +eval +subscribe " SCRIPTS_RUN);
    client = open_client_at(url);
    use_lock(client); /* needs no more than this */
    use_readers(client);
    ilk_client_free(client);
}
