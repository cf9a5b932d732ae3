/* SPDX-License-Identifier: MIT */
/*
 * mysql_fixture.h -- a MariaDB server of a test's own: private directory, socket and
 * port, and a database `app` with the user `u`, password `pw`.
 *
 * The program is $ILK_TEST_MARIADBD, or mariadbd or mysqld from PATH or /usr/sbin. The
 * server dies with the test program. All functions that return int return 0 for
 * success, and say on standard error what failed.
 */
#ifndef ILK__MYSQL_FIXTURE_H
#define ILK__MYSQL_FIXTURE_H

#include <mysql.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct mysql_fixture {
    char dir[96], socket[128];
    char url[128]; /* mysql://u:pw@127.0.0.1:port/app */
    int port;
    pid_t pid;
    MYSQL *root;
    char reply[4096];
} mysql_fixture;

enum { MYSQL_FIXTURE_MISSING = 77 };

/* MYSQL_FIXTURE_MISSING: there is no server to start. */
int mysql_fixture_start(mysql_fixture *fx);
void mysql_fixture_stop(mysql_fixture *fx);
int mysql_fixture_restart(mysql_fixture *fx); /* after SIGKILL */
void mysql_fixture_kill(mysql_fixture *fx);
void mysql_fixture_pause(mysql_fixture *fx);
void mysql_fixture_resume(mysql_fixture *fx);

/* A connection as root, or as `u` over TCP. NULL: it failed. */
MYSQL *mysql_fixture_connect(mysql_fixture *fx, int as_user);
/* Execute one statement, built as by printf; returns the first column of the first
 * row, "" for none, "(error) ..." for a failure. */
const char *mysql_fixture_sql(mysql_fixture *fx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Repeat it until it returns that, at most timeout_ms. */
int mysql_fixture_await(mysql_fixture *fx, const char *expected,
                        int64_t timeout_ms, const char *statement);

/*
 * A proxy before the server's port. Armed with a word, it passes the next statement that
 * contains it to the server, and closes both connections instead of passing the
 * answer.
 */
typedef struct mysql_proxy mysql_proxy;
mysql_proxy *mysql_proxy_open(const mysql_fixture *fx);
int mysql_proxy_port(const mysql_proxy *proxy);
void mysql_proxy_arm(mysql_proxy *proxy, const char *word);
/* From now on, replace a text in all statements by one of the same length; or, when
 * it has another one, the rest of the statement with it. Before the first connection. */
void mysql_proxy_rewrite(mysql_proxy *proxy, const char *from, const char *to);
/* The same for the first statement that has the text. */
void mysql_proxy_rewrite_once(mysql_proxy *proxy, const char *from,
                              const char *to);
int mysql_proxy_struck(const mysql_proxy *proxy);
void mysql_proxy_close(mysql_proxy *proxy);

#endif
