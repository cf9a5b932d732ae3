/* SPDX-License-Identifier: MIT */
/* ut_resolve.c -- names that resolve late, never, or to several addresses. */
/* link: -Wl,--wrap=getaddrinfo */
#include "base/clock.h"
#include "conn_case.h"
#include "fixture.h"
#include "net/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

int __real_getaddrinfo(const char *host, const char *port,
                       const struct addrinfo *hints, struct addrinfo **out);
int __wrap_getaddrinfo(const char *host, const char *port,
                       const struct addrinfo *hints, struct addrinfo **out);

static int delay_ms;          /* of each look-up of a name */
static int first_port;        /* 0, or: an address with this port comes first */
static sigset_t thread_mask;  /* of the thread that looked up last */
static _Atomic int looked_up; /* how many look-ups of names have ended */

/* glibc frees such lists node by node, so one may be joined of two. */
static int put_before(struct addrinfo **list)
{
    char port[8];
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *head;
    int error;

    snprintf(port, sizeof port, "%d", first_port);
    error = __real_getaddrinfo("127.0.0.1", port, &hints, &head);
    if (error == 0) {
        head->ai_next = *list;
        *list = head;
    }
    return error;
}

int __wrap_getaddrinfo(const char *host, const char *port,
                       const struct addrinfo *hints, struct addrinfo **out)
{
    struct addrinfo numeric = *hints;
    int error;

    if (hints->ai_flags & AI_NUMERICHOST)
        return __real_getaddrinfo(host, port, hints, out);
    if (strcmp(host, "nowhere") == 0) {
        fixture_sleep_ms(delay_ms);
        looked_up++;
        return EAI_NONAME;
    }
    pthread_sigmask(SIG_SETMASK, NULL, &thread_mask);
    numeric.ai_flags |= AI_NUMERICHOST;
    error = __real_getaddrinfo("127.0.0.1", port, &numeric, out);
    if (error == 0 && first_port != 0)
        error = put_before(out);
    fixture_sleep_ms(delay_ms);
    looked_up++;
    return error;
}

/* Each test begins with as many descriptors as the first one: the thread of
 * the one before may still be closing its own. */
static int setup(void)
{
    static int at_first;
    int64_t limit = fixture_now_ms() + 3000;

    delay_ms = 0;
    first_port = 0;
    looked_up = 0;
    if (conn_case_setup() != 0)
        return -1;
    if (at_first == 0)
        at_first = conn_case_fds();
    while (conn_case_fds() != at_first && fixture_now_ms() < limit)
        fixture_sleep_ms(5);
    return conn_case_fds() == at_first ? 0 : -1;
}

AROUND_EACH(setup, conn_case_teardown);

static ilk_status open_name(const char *host, int64_t timeout_ms)
{
    char url[64];

    snprintf(url, sizeof url, "redis://:sesame@%s:%d", host, far_end.port);
    return conn_case_open_url(url, timeout_ms);
}

static const char *const hello[] = {HELLO_ANSWER, NULL};

TEST(addresses_are_there_at_once)
{
    static const char *const hosts[] = {"127.0.0.1", "::1", "10.0.0.1"};

    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        const struct addrinfo *list;
        ilk__resolve *resolve;

        assert_int_equal(ilk__resolve_start(&resolve, hosts[i], 6379, &err),
                         ILK_OK);
        assert_int_equal(ilk__resolve_fd(resolve), -1);
        assert_int_equal(ilk__resolve_result(resolve, &list, &err), ILK_OK);
        assert_non_null(list);
        ilk__resolve_free(resolve);
    }
    assert_int_equal(looked_up, 0);
    ilk__resolve_free(NULL);
}

TEST(the_descriptor_reports_the_end)
{
    const struct addrinfo *list;
    ilk__resolve *resolve;
    struct pollfd pfd;

    delay_ms = 500;
    assert_int_equal(ilk__resolve_start(&resolve, "some.name", 6379, &err),
                     ILK_OK);
    pfd = (struct pollfd){.fd = ilk__resolve_fd(resolve), .events = POLLIN};
    assert_int_equal(ilk__resolve_result(resolve, &list, &err), ILK_EAGAIN);
    assert_null(list);
    assert_int_equal(poll(&pfd, 1, 5000), 1);
    assert_int_equal(ilk__resolve_result(resolve, &list, &err), ILK_OK);
    assert_int_equal(
        ntohs(((const struct sockaddr_in *)(const void *)list->ai_addr)
                  ->sin_port),
        6379);
    ilk__resolve_free(resolve);
}

TEST(a_name_leads_to_a_connection)
{
    assert_int_equal(peer_serve(&far_end, hello), 0);
    assert_int_equal(open_name("some.name", 2000), ILK_OK);
    assert_int_equal(looked_up, 1);
    assert_true(sigismember(&thread_mask, SIGINT));
    assert_true(sigismember(&thread_mask, SIGALRM));
    ilk__conn_close(conn);
    conn = NULL;
}

TEST(an_unknown_name_is_reported)
{
    assert_int_equal(open_name("nowhere", 2000), ILK_ECONN);
    conn_case_says("nowhere");
    conn_case_says("Name or service not known");
}

TEST(a_late_name_costs_no_more_than_the_deadline)
{
    int fds = conn_case_fds();
    int64_t before = fixture_now_ms(), spent;

    delay_ms = 100 + (int)patience(200);
    assert_int_equal(open_name("some.name", 50), ILK_ETIMEOUT);
    spent = fixture_now_ms() - before;
    assert_in_range(spent, 49, 50 + patience(SLACK_MS));
    conn_case_says("some.name");
    conn_case_says("looking up");

    /* The end of the thread frees what it still has. */
    while (looked_up == 0 || conn_case_fds() != fds) {
        assert_true(fixture_now_ms() - before < patience(3000));
        fixture_sleep_ms(5);
    }
}

TEST(the_next_address_is_tried)
{
    peer gone;

    assert_int_equal(peer_open(&gone), 0);
    first_port = gone.port;
    peer_close(&gone);
    assert_int_equal(peer_serve(&far_end, hello), 0);
    assert_int_equal(open_name("some.name", 2000), ILK_OK);
    ilk__conn_close(conn);
    conn = NULL;
}

/* Fill a listener's queue until it swallows a connect: so does a firewall. */
static int swallow(peer *hole, int *fds, int room)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int count;

    if (peer_open(hole) != 0 || listen(hole->listener, 0) != 0)
        return -1;
    address.sin_port = htons((uint16_t)hole->port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (count = 0; count < room; count++) {
        struct pollfd pfd = {.events = POLLOUT};

        pfd.fd = fds[count] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(pfd.fd, (struct sockaddr *)&address, sizeof address);
        if (poll(&pfd, 1, 50) == 0)
            return count + 1;
    }
    return -1;
}

TEST(an_address_that_swallows_packets_has_its_share_only)
{
    int64_t before, spent;
    int fds[16], count;
    peer hole;

    count = swallow(&hole, fds, 16);
    assert_true(count > 0);
    first_port = hole.port;
    assert_int_equal(peer_serve(&far_end, hello), 0);
    before = fixture_now_ms();
    assert_int_equal(open_name("some.name", 2000), ILK_OK);
    spent = fixture_now_ms() - before;
    assert_in_range(spent, 995, 1000 + patience(SLACK_MS));
    ilk__conn_close(conn);
    conn = NULL;

    first_port = 0;
    far_end.port = hole.port; /* alone, it has all the time there is */
    before = fixture_now_ms();
    assert_int_equal(open_name("some.name", 100), ILK_ETIMEOUT);
    spent = fixture_now_ms() - before;
    assert_in_range(spent, 99, 100 + patience(SLACK_MS));
    conn_case_says("while connecting");
    while (count > 0)
        close(fds[--count]);
    peer_close(&hole);
}

/* The thread does not live on in a child: the child frees for it. */
TEST(a_child_frees_what_the_thread_had)
{
    int fds = conn_case_fds(), status;
    ilk__resolve *resolve;
    pid_t pid;

    delay_ms = 500;
    assert_int_equal(ilk__resolve_start(&resolve, "some.name", 1, &err),
                     ILK_OK);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        ilk__resolve_free(resolve);
        _exit(conn_case_fds() == fds ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    ilk__resolve_free(resolve);
    while (looked_up == 0 || conn_case_fds() != fds)
        fixture_sleep_ms(5);
}
