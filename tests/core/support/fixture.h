/* SPDX-License-Identifier: MIT */
/*
 * fixture.h -- a server of a test's own, on a private socket and port.
 *
 *     static fixture fx;
 *     int setup(void)    { return fixture_start(&fx, NULL); }
 *     int teardown(void) { return fixture_stop(&fx); }
 *     ...
 *     assert_string_equal(fixture_command(&fx, "GET %s", name), "(nil)");
 *
 * The program is $ILK_TEST_SERVER or redis-server from PATH. Nothing is ever
 * saved. The server dies with the test program. All functions that return int
 * return 0 for success and write failures to standard error.
 */
#ifndef ILK__FIXTURE_H
#define ILK__FIXTURE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { FIXTURE_ARGS = 512, FIXTURE_REPLY = 65536 };

typedef struct fixture {
    char dir[96];       /* private, removed by fixture_stop() */
    char socket[128];   /* the unix socket's path */
    int port;           /* on 127.0.0.1 */
    char unix_url[192]; /* unix://... */
    char tcp_url[64];   /* redis://127.0.0.1:port */
    pid_t pid;          /* the server's; 0 when it does not run */
    int fd;             /* for commands; -1 when closed */
    pid_t fd_owner;     /* who opened fd; a forked child opens its own */
    char args[FIXTURE_ARGS];
    char reply[FIXTURE_REPLY];
} fixture;

/*
 * Start a server and wait until it answers. extra: more arguments, separated
 * by spaces, such as "--maxclients 4"; NULL for none. With --requirepass the
 * fixture's own commands log in.
 */
int fixture_start(fixture *fx, const char *extra);

int fixture_stop(fixture *fx);    /* end it and remove the directory */
int fixture_kill(fixture *fx);    /* SIGKILL; the directory stays */
int fixture_restart(fixture *fx); /* same directory, port and arguments */
int fixture_pause(fixture *fx);   /* SIGSTOP, and wait until it stands */
int fixture_resume(fixture *fx);  /* SIGCONT */

/* How the first entry of a wait queue names its waiter: id and secret, as a
 * message for it must. Copied to out, of 64 bytes. */
const char *fixture_first_waiter(fixture *fx, const char *key, char *out);
/*
 * Send one command, built as by printf and cut at spaces, and answer what
 * came back as text: strings and numbers as they are, "(nil)",
 * "(error) ERR ...", the elements of an array joined by newlines, "" for an
 * empty one. "(closed)" when there is no answer within 5 s. Valid until the
 * next command. One thread at a time.
 */
const char *fixture_command(fixture *fx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same with arguments as they are; end them with (char *)NULL. */
const char *fixture_call(fixture *fx, const char *first, ...)
    __attribute__((sentinel));

/* The same with binary arguments. */
const char *fixture_argv(fixture *fx, int argc, const char *const *argv,
                         const size_t *lens);

/* A command whose answer is a number; INT64_MIN for another answer. */
int64_t fixture_int(fixture *fx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Ask again until the answer is expected: 0; -1 when timeout_ms are over. */
int fixture_await(fixture *fx, const char *expected, int timeout_ms,
                  const char *format, ...)
    __attribute__((format(printf, 4, 5)));

void fixture_hang_up(fixture *fx); /* the next command dials again */

/*
 * How often something is done that finds as much when it is done less: all of
 * it, or a share where a sanitizer makes each time cost ten times as much.
 */
#ifndef ILK_TEST_SHARE
#define ILK_TEST_SHARE 1
#endif
#define OFTEN(n) ((n) / ILK_TEST_SHARE)

/*
 * Upper bounds on times are said in milliseconds of a machine that has nothing
 * else to do, and are stretched by $ILK_TEST_PATIENCE, for sanitizers and for
 * programs that run side by side, and by a second for a machine that stalls.
 */
int64_t patience(int64_t ms);

int64_t fixture_now_ms(void);     /* monotonic */
void fixture_sleep_ms(int ms);    /* goes on after signals */
void fixture_wake_on(int signal); /* ends waits, and does nothing else */

/* A port of 127.0.0.1 at which nothing listens; a process gets another one each time. */
int fixture_free_port(void);

/* Remove a directory and what is in it. */
void fixture_remove(const char *dir);

#endif
