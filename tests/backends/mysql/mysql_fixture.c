/* SPDX-License-Identifier: MIT */
/* mysql_fixture.c -- a MariaDB server of a test's own, and a proxy before it. */
#include "mysql_fixture.h"

#include "fixture.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- programs ------------------------------------------------------------ */

static int is_program(char *out, size_t room, const char *dir, const char *name)
{
    snprintf(out, room, "%s/%s", dir, name);
    return access(out, X_OK) == 0;
}

static int find_program(char *out, size_t room, const char *const *names)
{
    static const char *const dirs[] = {"/usr/sbin", "/usr/bin",
                                       "/usr/local/bin", "/usr/libexec",
                                       "/opt/homebrew/bin"};

    for (; *names; names++)
        for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++)
            if (is_program(out, room, dirs[i], *names))
                return 1;
    return 0;
}

static int find_server(char *out, size_t room)
{
    static const char *const names[] = {"mariadbd", "mysqld", NULL};
    const char *given = getenv("ILK_TEST_MARIADBD");

    if (given && *given) {
        snprintf(out, room, "%s", given);
        return 1;
    }
    return find_program(out, room, names);
}

/* execv() takes what it does not change as if it did. */
static pid_t run(const char *log, const char *const *argv)
{
    pid_t pid = fork();

    if (pid == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(fd, 1);
        dup2(fd, 2);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return pid;
}

/* The directory will be removed. */
static void print_log(const char *what, const char *path)
{
    char line[512];
    FILE *log = fopen(path, "r");

    fprintf(stderr, "%s:\n", what);
    while (log && fgets(line, sizeof line, log))
        fputs(line, stderr);
    if (log)
        fclose(log);
}

static const char *own_name(void)
{
    const struct passwd *entry = getpwuid(getuid());

    return entry ? entry->pw_name : "root";
}

/* ---- the server ---------------------------------------------------------- */

enum { INSTALLATIONS = 3 }; /* now and then one fails at "mysql.tmp_user_sys" */

static int make_data(mysql_fixture *fx)
{
    static const char *const names[] = {"mariadb-install-db",
                                        "mysql_install_db", NULL};
    char program[128], data[128], user[80], log[128];
    const char *argv[] = {program,
                          "--no-defaults",
                          data,
                          user,
                          "--auth-root-authentication-method=normal",
                          "--skip-test-db",
                          NULL};
    int status = -1;

    if (!find_program(program, sizeof program, names))
        return MYSQL_FIXTURE_MISSING;
    snprintf(data, sizeof data, "--datadir=%s/data", fx->dir);
    snprintf(user, sizeof user, "--user=%s", own_name());
    snprintf(log, sizeof log, "%s/install.log", fx->dir);
    for (int i = 0; i < INSTALLATIONS && status; i++) {
        fixture_remove(data + strlen("--datadir="));
        waitpid(run(log, argv), &status, 0);
    }
    if (status)
        print_log("mariadb-install-db failed", log);
    return status ? -1 : 0;
}

/* MariaDB has snapshot isolation on from 11.6.2; an older server that lacks it ignores
 * the option. */
static int launch(mysql_fixture *fx)
{
    char program[128], data[128], socket[160], port[32], user[80], log[128];
    const char *argv[] = {
        program, "--no-defaults", data, socket, port, user,
        "--bind-address=127.0.0.1", "--innodb-buffer-pool-size=16M",
        "--innodb-log-file-size=8M", "--skip-name-resolve",
        "--performance-schema=OFF", "--loose-innodb-snapshot-isolation=ON",
        /* A commit survives the process, not the machine,
                           * and does not wait for the disk. */
        "--innodb-flush-log-at-trx-commit=2", "--sync-frm=OFF",
        "--max-connections=120",
        "--skip-ssl", /* later ones make a certificate */
        NULL};

    if (!find_server(program, sizeof program))
        return MYSQL_FIXTURE_MISSING;
    snprintf(data, sizeof data, "--datadir=%s/data", fx->dir);
    snprintf(socket, sizeof socket, "--socket=%s", fx->socket);
    snprintf(port, sizeof port, "--port=%d", fx->port);
    snprintf(user, sizeof user, "--user=%s", own_name());
    snprintf(log, sizeof log, "%s/server.log", fx->dir);
    fx->pid = run(log, argv);
    return fx->pid > 0 ? 0 : -1;
}

MYSQL *mysql_fixture_connect(mysql_fixture *fx, int as_user)
{
    MYSQL *mysql = mysql_init(NULL);
    const unsigned tcp = MYSQL_PROTOCOL_TCP;

    if (as_user)
        mysql_options(mysql, MYSQL_OPT_PROTOCOL, &tcp);
    if (mysql_real_connect(mysql, as_user ? "127.0.0.1" : NULL,
                           as_user ? "u" : "root", as_user ? "pw" : "",
                           as_user ? "app" : NULL, (unsigned)fx->port,
                           as_user ? NULL : fx->socket, 0))
        return mysql;
    mysql_close(mysql);
    return NULL;
}

static int await_server(mysql_fixture *fx)
{
    int64_t until = fixture_now_ms() + 30000;
    char log[128];

    while (fixture_now_ms() < until) {
        fx->root = mysql_fixture_connect(fx, 0);
        if (fx->root)
            return 0;
        fixture_sleep_ms(20);
    }
    snprintf(log, sizeof log, "%s/server.log", fx->dir);
    print_log("mariadbd does not answer", log);
    return -1;
}

int mysql_fixture_start(mysql_fixture *fx)
{
    int st;

    memset(fx, 0, sizeof *fx);
    snprintf(fx->dir, sizeof fx->dir, "/tmp/ilk-mysql-XXXXXX");
    if (!mkdtemp(fx->dir))
        return -1;
    snprintf(fx->socket, sizeof fx->socket, "%s/s", fx->dir);
    fx->port = fixture_free_port();
    snprintf(fx->url, sizeof fx->url, "mysql://u:pw@127.0.0.1:%d/app",
             fx->port);
    st = make_data(fx);
    if (st == 0)
        st = launch(fx);
    if (st == 0)
        st = await_server(fx);
    if (st) {
        mysql_fixture_stop(fx);
        return st;
    }
    mysql_fixture_sql(fx, "CREATE DATABASE app");
    mysql_fixture_sql(fx, "CREATE USER u@'%%' IDENTIFIED BY 'pw'");
    mysql_fixture_sql(fx, "GRANT ALL ON app.* TO u@'%%'");
    return 0;
}

static void hang_up(mysql_fixture *fx)
{
    if (fx->root)
        mysql_close(fx->root);
    fx->root = NULL;
}

void mysql_fixture_kill(mysql_fixture *fx)
{
    hang_up(fx);
    if (fx->pid > 0) {
        kill(fx->pid, SIGKILL);
        waitpid(fx->pid, NULL, 0);
    }
    fx->pid = 0;
}

int mysql_fixture_restart(mysql_fixture *fx)
{
    int st = launch(fx);

    return st ? st : await_server(fx);
}

void mysql_fixture_stop(mysql_fixture *fx)
{
    mysql_fixture_kill(fx);
    fixture_remove(fx->dir);
}

void mysql_fixture_pause(mysql_fixture *fx)
{
    kill(fx->pid, SIGSTOP);
}

void mysql_fixture_resume(mysql_fixture *fx)
{
    kill(fx->pid, SIGCONT);
}

/* ---- statements ---------------------------------------------------------- */

const char *mysql_fixture_sql(mysql_fixture *fx, const char *format, ...)
{
    char statement[4096];
    va_list args;
    MYSQL_RES *rows;
    MYSQL_ROW row;

    va_start(args, format);
    vsnprintf(statement, sizeof statement, format, args);
    va_end(args);
    fx->reply[0] = '\0';
    if (mysql_query(fx->root, statement)) {
        snprintf(fx->reply, sizeof fx->reply, "(error) %s",
                 mysql_error(fx->root));
        return fx->reply;
    }
    rows = mysql_store_result(fx->root);
    row = rows ? mysql_fetch_row(rows) : NULL;
    if (row && row[0])
        snprintf(fx->reply, sizeof fx->reply, "%s", row[0]);
    if (rows)
        mysql_free_result(rows);
    return fx->reply;
}

int mysql_fixture_await(mysql_fixture *fx, const char *expected,
                        int64_t timeout_ms, const char *statement)
{
    int64_t until = fixture_now_ms() + timeout_ms;

    while (strcmp(mysql_fixture_sql(fx, "%s", statement), expected) != 0) {
        if (fixture_now_ms() > until) {
            fprintf(stderr, "%s: %s, not %s\n", statement, fx->reply, expected);
            return -1;
        }
        fixture_sleep_ms(5);
    }
    return 0;
}

/* ---- the proxy ----------------------------------------------------------- */

enum { PAIRS = 64, CHUNK = 65536 };

typedef struct pair {
    int client, server, swallows;
} pair;

struct mysql_proxy {
    int listener, port, server_port;
    pthread_t thread;
    _Atomic int stops, is_struck;
    pthread_mutex_t mutex;
    char word[64];
    const char *from, *to; /* to rewrite, or NULL */
    int is_once;
    pair pairs[PAIRS];
    size_t count;
};

static int dial(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

    if (connect(fd, (struct sockaddr *)&address, sizeof address)) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

static void accept_one(mysql_proxy *proxy)
{
    int client = accept(proxy->listener, NULL, NULL), server;

    if (client < 0)
        return;
    server = proxy->count < PAIRS ? dial(proxy->server_port) : -1;
    if (server < 0) {
        close(client);
        return;
    }
    proxy->pairs[proxy->count++] = (pair){client, server, 0};
}

/* Whether this statement's answer is to be swallowed. */
static int strikes(mysql_proxy *proxy, const char *data, size_t len)
{
    int found;

    pthread_mutex_lock(&proxy->mutex);
    found = proxy->word[0]
            && memmem(data, len, proxy->word, strlen(proxy->word)) != NULL;
    if (found)
        proxy->word[0] = '\0';
    pthread_mutex_unlock(&proxy->mutex);
    return found;
}

static void rewrite(mysql_proxy *proxy, char *data, size_t len)
{
    const size_t from_len = strlen(proxy->from), to_len = strlen(proxy->to);
    char *end = data + len, *at = data;

    while ((at = memmem(at, (size_t)(end - at), proxy->from, from_len))) {
        memcpy(at, proxy->to, to_len);
        if (to_len != from_len)
            memset(at + to_len, ' ', (size_t)(end - at) - to_len);
        at += to_len;
        if (proxy->is_once) {
            proxy->from = NULL;
            return;
        }
    }
}

static int pump(mysql_proxy *proxy, pair *one, int from_client)
{
    static char chunk[CHUNK];
    ssize_t len = read(from_client ? one->client : one->server, chunk, CHUNK);

    if (len <= 0)
        return 0;
    if (from_client && proxy->from)
        rewrite(proxy, chunk, (size_t)len);
    if (from_client && strikes(proxy, chunk, (size_t)len))
        one->swallows = 1;
    if (!from_client && one->swallows) {
        proxy->is_struck = 1;
        return 0;
    }
    return send(from_client ? one->server : one->client, chunk, (size_t)len,
                MSG_NOSIGNAL)
           == len;
}

static void drop(mysql_proxy *proxy, size_t i)
{
    close(proxy->pairs[i].client);
    close(proxy->pairs[i].server);
    proxy->pairs[i] = proxy->pairs[--proxy->count];
}

static void *serve(void *arg)
{
    mysql_proxy *proxy = arg;
    struct pollfd fds[1 + 2 * PAIRS];

    while (!proxy->stops) {
        size_t count = proxy->count;

        fds[0] = (struct pollfd){.fd = proxy->listener, .events = POLLIN};
        for (size_t i = 0; i < count; i++) {
            fds[1 + 2 * i] =
                (struct pollfd){.fd = proxy->pairs[i].client, .events = POLLIN};
            fds[2 + 2 * i] =
                (struct pollfd){.fd = proxy->pairs[i].server, .events = POLLIN};
        }
        poll(fds, 1 + 2 * count, 20);
        for (size_t i = count; i-- > 0;)
            if ((fds[1 + 2 * i].revents && !pump(proxy, &proxy->pairs[i], 1))
                || (fds[2 + 2 * i].revents
                    && !pump(proxy, &proxy->pairs[i], 0)))
                drop(proxy, i);
        if (fds[0].revents)
            accept_one(proxy);
    }
    while (proxy->count)
        drop(proxy, proxy->count - 1);
    return NULL;
}

mysql_proxy *mysql_proxy_open(const mysql_fixture *fx)
{
    mysql_proxy *proxy = calloc(1, sizeof *proxy);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;

    proxy->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(proxy->listener, (struct sockaddr *)&address, sizeof address)
        || listen(proxy->listener, 64)
        || getsockname(proxy->listener, (struct sockaddr *)&address, &len))
        abort();
    proxy->port = ntohs(address.sin_port);
    proxy->server_port = fx->port;
    pthread_mutex_init(&proxy->mutex, NULL);
    if (pthread_create(&proxy->thread, NULL, serve, proxy))
        abort();
    return proxy;
}

int mysql_proxy_port(const mysql_proxy *proxy)
{
    return proxy->port;
}

void mysql_proxy_arm(mysql_proxy *proxy, const char *word)
{
    pthread_mutex_lock(&proxy->mutex);
    proxy->is_struck = 0;
    snprintf(proxy->word, sizeof proxy->word, "%s", word);
    pthread_mutex_unlock(&proxy->mutex);
}

void mysql_proxy_rewrite(mysql_proxy *proxy, const char *from, const char *to)
{
    proxy->from = from;
    proxy->to = to;
}

void mysql_proxy_rewrite_once(mysql_proxy *proxy, const char *from,
                              const char *to)
{
    mysql_proxy_rewrite(proxy, from, to);
    proxy->is_once = 1;
}

int mysql_proxy_struck(const mysql_proxy *proxy)
{
    return proxy->is_struck;
}

void mysql_proxy_close(mysql_proxy *proxy)
{
    proxy->stops = 1;
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
    pthread_mutex_destroy(&proxy->mutex);
    free(proxy);
}
