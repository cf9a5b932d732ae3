/* SPDX-License-Identifier: MIT */
/*
 * ct_gateway_wire.c -- the bytes of a gateway: order, limits, and what the core
 * never sends.
 */
#include "memory_backend.h"
#include "wire_case.h"

#include "fixture.h"
#include "fork_case.h"
#include "gateway/request_words.h"
#include "redis/script.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"

enum { MANY = 2000 };

/* ---- commands and replies ------------------------------------------------- */

TEST(replies_leave_in_the_order_of_the_commands)
{
    const char *const extend[] = {"token", "30000", "1", NULL};
    wire self;

    wire_open(&self, "memory://?slow=100&seed=7");
    for (int i = 0; i < 10; i++) {
        wire_call(self.fd, ILK__SCRIPT_LOCK_EXTEND, 2, extend);
        wire_put(&self, "*1\r\n$4\r\nPING\r\n");
        wire_receives(&self, "*4\r\n:70\r\n:0\r\n:0\r\n$0\r\n\r\n+PONG\r\n");
    }
    wire_close(&self);
}

/* The connection of an acquire breaks before its reply, and the core sends the
 * cancel over another one. */
TEST(a_cancel_on_another_connection_follows_its_acquire)
{
    int first, second;
    wire self;

    wire_open(&self, "memory://?slow=100&seed=9");
    wire_connect(&self, &first); /* read before the second in each turn */
    wire_connect(&self, &second);
    for (int i = 0; i < 20; i++) {
        char token[32];
        const char *const acquire[] = {token, "30000", "test", "0",
                                       "",    "c1",    NULL};
        const char *const cancel[] = {"",  token,  "5000", "64",
                                      "0", "6000", NULL};

        snprintf(token, sizeof token, "token%d", i);
        wire_call(first, ILK__SCRIPT_LOCK_ACQUIRE, 5, acquire);
        wire_call(second, ILK__SCRIPT_LOCK_CANCEL, 5, cancel);
        wire_answer(second);
        wire_put(&self, "*2\r\n$6\r\nEXISTS\r\n$4\r\nwire\r\n");
        wire_receives(&self, ":0\r\n");
        wire_answer(first);
    }
    wire_put(&self, "*2\r\n$6\r\nEXISTS\r\n$4\r\nwire\r\n");
    wire_receives(&self, ":0\r\n");
    close(first);
    close(second);
    wire_close(&self);
}

/* Bytes that came before on other connections are received then. */
static void pass_turns(const wire *self)
{
    for (int turn = 0; turn < 2; turn++) {
        wire_put(self, "*1\r\n$4\r\nPING\r\n");
        wire_receives(self, "+PONG\r\n");
    }
}

/* A request without a token, whose connection breaks when the store has it, is sent
 * again over another one. */
TEST(a_copy_on_another_connection_is_executed_after_the_first)
{
    const char *const older[] = {"7", "old", NULL};
    const char *const newer[] = {"7", "new", NULL};
    int first, second;
    wire self;

    wire_open(&self, "memory://?slow=100&seed=11");
    wire_put(&self, "*1\r\n$8\r\nFLUSHALL\r\n");
    wire_receives(&self, "+OK\r\n");
    wire_connect(&self, &second);
    for (int i = 0; i < 20; i++) {
        wire_connect(&self, &first);
        wire_call(first, ILK__SCRIPT_GUARD_SET, 2, older);
        pass_turns(&self);
        close(first);
        pass_turns(&self);
        wire_call(second, ILK__SCRIPT_GUARD_SET, 2, newer);
        wire_answer(second);
        fixture_sleep_ms(2 * MEMORY_SLOW_MS);
        wire_put(&self, "*2\r\n$3\r\nGET\r\n$4\r\nwire\r\n");
        wire_receives(&self, "$3\r\nnew\r\n");
    }
    close(second);
    wire_close(&self);
}

/* A login that replaces a broken connection kills it: what it had not begun is
 * not executed after the reply. */
TEST(a_killed_connection_s_requests_are_dropped)
{
    const char *const extend[] = {"token", "30000", "1", NULL};
    const char *const acquire[] = {"token", "30000", "test", "0",
                                   "",      "c1",    NULL};
    enum { COUNT = 50 };
    int first, second;
    long before, executed;
    wire self;

    wire_open(&self, "memory://?slow=100&seed=10");
    wire_connect(&self, &first);
    wire_connect(&self, &second);
    wire_call(first, ILK__SCRIPT_LOCK_ACQUIRE, 5, acquire);
    wire_answer(first);
    before = memory_backend_executed();
    for (int i = 0; i < COUNT; i++)
        wire_call(first, ILK__SCRIPT_LOCK_EXTEND, 2, extend);
    wire_put(&self, "*4\r\n$6\r\nCLIENT\r\n$4\r\nKILL\r\n$2\r\nID\r\n"
                    "$1\r\n2\r\n");
    wire_receives(&self, ":1\r\n");
    executed = memory_backend_executed();
    assert_true(executed - before < COUNT - 1); /* else nothing was dropped */
    fixture_sleep_ms(2 * MEMORY_SLOW_MS);       /* the one that had begun */
    assert_true(memory_backend_executed() - executed <= 1);
    close(first);
    close(second);
    wire_close(&self);
}

TEST(commands_may_come_byte_by_byte)
{
    static const char ping[] = "*1\r\n$4\r\nPING\r\n";
    wire self;

    wire_open(&self, "memory://");
    for (const char *c = ping; *c; c++)
        assert_int_equal(send(self.fd, c, 1, 0), 1);
    wire_receives(&self, "+PONG\r\n");
    wire_close(&self);
}

/* Bytes that the core never sends close the connection, and do nothing else. */
TEST(other_bytes_close_the_connection)
{
    static const char *const texts[] = {
        "hello\r\n", "+OK\r\n",       "*1\r\n:5\r\n",       "*0\r\n",
        "*-5\r\n",   "*1\r\n$-1\r\n", "*9999999\r\n$1\r\n", "$99999999999\r\n"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        wire self;
        int other;

        wire_open(&self, "memory://");
        wire_connect(&self, &other);
        wire_put(&self, texts[i]);
        wire_is_closed(&self);
        close(self.fd);
        self.fd = other;
        wire_put(&self, "*1\r\n$4\r\nPING\r\n");
        wire_receives(&self, "+PONG\r\n");
        wire_close(&self);
    }
}

TEST(a_script_of_others_is_refused)
{
    wire self;

    wire_open(&self, "memory://");
    wire_put(&self, "*4\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n0\r\n$1\r\n1"
                    "\r\n");
    wire_receives(&self, "-ERR this is no call of the library's scripts\r\n");
    wire_close(&self);
}

TEST(a_call_with_a_wrong_number_of_keys_is_refused)
{
    wire self;
    char text[256];

    wire_open(&self, "memory://");
    snprintf(text, sizeof text,
             "*5\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$1\r\nk\r\n$1\r\n1"
             "\r\n",
             ilk__scripts[ILK__SCRIPT_LOCK_EXTEND].sha1);
    wire_put(&self, text);
    wire_receives(&self, "-ERR this is no call of the library's scripts\r\n");
    wire_close(&self);
}

/* A server executes the commands that were sent before the connection ends. These
 * are several times as long as one read. */
TEST(commands_sent_before_the_close_are_executed)
{
    const char *const extend[] = {"token", "30000", "1", NULL};
    long before = memory_backend_executed();
    wire self;

    wire_open(&self, "memory://");
    for (int i = 0; i < MANY; i++)
        wire_call(self.fd, ILK__SCRIPT_LOCK_EXTEND, 2, extend);
    ilk__gateway_stop(self.gateway);
    assert_int_equal(memory_backend_executed() - before, MANY);
    wire_close(&self);
}

/* ---- a store that holds its replies back ---------------------------------- */

enum { HELD = 16 * 1024, LOST = ILK__CODE_LOST };

#define NO_EVIDENCE "\r\n:0\r\n:0\r\n$1\r\n-\r\n"
#define IS_LOST "*4\r\n:70" NO_EVIDENCE
#define GROUP_IS_LOST "*1\r\n:70\r\n"

/* Requests have their replies when they are released, the last one first. */
static struct {
    pthread_mutex_t mutex;
    ilk__gateway *gateway;
    ilk__gateway_request *requests[HELD];
    int64_t numbers[HELD]; /* of the requests, in the order of the calls */
    size_t count, called;
    int released;
    size_t published; /* bytes of the message that each call publishes */
    ilk__gateway_request *contact; /* that waits */
    size_t contacts;
    const char *reach; /* what it replies: "" is contact; NULL: nothing yet */
} held = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static ilk_status open_held(void **out, ilk__gateway *gateway,
                            const ilk__url *url, ilk_error *err)
{
    (void)url;
    (void)err;
    held.gateway = gateway;
    held.count = held.called = 0;
    held.released = 0;
    held.published = 0;
    held.contact = NULL;
    held.contacts = 0;
    held.reach = NULL;
    *out = &held;
    return ILK_OK;
}

/* With the mutex. */
static void reply_to_all(void)
{
    while (held.count)
        ilk__gateway_reply_lost(held.requests[--held.count]);
}

/* With the mutex. */
static void reply_to_contact(const char *reach)
{
    ilk__gateway_request *contact = held.contact;

    held.contact = NULL;
    held.reach = NULL;
    if (contact && *reach)
        ilk__gateway_reply_error(contact, reach);
    else if (contact)
        ilk__gateway_contact_made(contact);
}

static void close_held(void *self)
{
    (void)self;
    reply_to_all();
    reply_to_contact("");
}

static int replies_alone_held(const ilk__gateway_request *request)
{
    (void)request;
    return 1;
}

static void contact_held(void *self, ilk__gateway_request *request)
{
    (void)self;
    pthread_mutex_lock(&held.mutex);
    held.contact = request;
    held.contacts++;
    pthread_mutex_unlock(&held.mutex);
}

static void publish(size_t len)
{
    char *message = calloc(1, len);

    assert_non_null(message);
    memset(message, 'm', len);
    (void)ilk__gateway_publish(held.gateway, (ilk__span){NULL, 0},
                               (ilk__span){"c", 1}, (ilk__span){message, len});
    free(message);
}

static void call_held(void *self, ilk__gateway_request *request)
{
    (void)self;
    pthread_mutex_lock(&held.mutex);
    held.requests[held.count++] = request;
    held.numbers[held.called++] = request->number;
    if (held.published)
        publish(held.published);
    pthread_mutex_unlock(&held.mutex);
}

static size_t prepare_held(void *self, struct pollfd *fds, size_t room,
                           int64_t *until)
{
    (void)self;
    (void)fds;
    (void)room;
    pthread_mutex_lock(&held.mutex);
    if ((held.released && held.count) || (held.reach && held.contact))
        *until = 0;
    pthread_mutex_unlock(&held.mutex);
    return 0;
}

static void polled_held(void *self, const struct pollfd *fds, size_t count)
{
    (void)self;
    (void)fds;
    (void)count;
    pthread_mutex_lock(&held.mutex);
    if (held.released)
        reply_to_all();
    if (held.reach && held.contact)
        reply_to_contact(held.reach);
    pthread_mutex_unlock(&held.mutex);
}

static ilk__backend held_backend = {.scheme = "held",
                                    .store = "the store that waits",
                                    .offers = UINT32_MAX,
                                    .keeps_order = 1,
                                    .open = open_held,
                                    .close = close_held,
                                    .call = call_held,
                                    .prepare = prepare_held,
                                    .polled = polled_held};

/* ---- a store that replies to a ping --------------------------------------- */

static atomic_int is_away;

static void say_whether_there(void *self, ilk__gateway_request *request)
{
    (void)self;
    if (is_away)
        ilk__gateway_reply_error(request, "ILKDOWN the store is away");
    else
        ilk__gateway_contact_made(request);
}

/* It asks its servers at each login, or only for a ping. */
#define ASKED(url_scheme, function)                                            \
    {                                                                          \
        .scheme = (url_scheme), .store = "the store that replies",             \
        .offers = UINT32_MAX, .open = open_held, .close = close_held,          \
        .function = say_whether_there, .call = call_held,                      \
        .prepare = prepare_held, .polled = polled_held                         \
    }

static const ilk__backend contacted_backend = ASKED("contacted", contact),
                          pinged_backend = ASKED("pinged", ping);

TEST(the_store_replies_to_a_ping)
{
    static const char *const urls[] = {"contacted://", "pinged://"};

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        wire self;

        is_away = 0;
        wire_open(&self, urls[i]);
        wire_put(&self, "*1\r\n$4\r\nPING\r\n");
        wire_receives(&self, "+PONG\r\n");
        is_away = 1;
        wire_put(&self, "*1\r\n$4\r\nPING\r\n");
        wire_receives(&self, "-ILKDOWN the store is away\r\n");
        wire_close(&self);
    }
}

static size_t called(const size_t *what)
{
    size_t count;

    pthread_mutex_lock(&held.mutex);
    count = *what;
    pthread_mutex_unlock(&held.mutex);
    return count;
}

static void await_count(const size_t *what, size_t count)
{
    int64_t until = fixture_now_ms() + patience(5000);

    while (called(what) < count && fixture_now_ms() < until)
        fixture_sleep_ms(1);
    assert_int_equal(called(what), count);
}

static void await_called(size_t count)
{
    await_count(&held.called, count);
}

static void release(const wire *self)
{
    pthread_mutex_lock(&held.mutex);
    held.released = 1;
    pthread_mutex_unlock(&held.mutex);
    ilk__gateway_wake(self->gateway);
}

static void answer_contact(const wire *self, const char *reach)
{
    pthread_mutex_lock(&held.mutex);
    held.reach = reach;
    pthread_mutex_unlock(&held.mutex);
    ilk__gateway_wake(self->gateway);
}

/* EXTEND of one of two locks under a token of its own; `number` is the request's. */
static size_t write_extend(char *to, size_t room, int number)
{
    const char *sha1 = ilk__scripts[ILK__SCRIPT_LOCK_EXTEND].sha1;

    return (size_t)snprintf(
        to, room,
        "*9\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n2\r\n$1\r\n%c\r\n"
        "$1\r\nf\r\n$6\r\nt%05d\r\n$5\r\n30000\r\n$1\r\n1\r\n$5\r\n%05d\r\n",
        sha1, number % 2 ? 'k' : 'l', number, number);
}

static void put_extends(const wire *self, int count)
{
    for (int i = 0; i < count; i++) {
        char text[256];
        size_t len = write_extend(text, sizeof text, i);

        assert_int_equal(send(self->fd, text, len, MSG_NOSIGNAL), len);
    }
}

static void receive_extended(const wire *self, int count)
{
    for (int i = 0; i < count; i++) {
        char text[64];

        snprintf(text, sizeof text, "*4\r\n:%d" NO_EVIDENCE, i * 64 + LOST);
        wire_receives(self, text);
    }
}

/* The store keeps the order itself, so that nobody waits for a reply. */
TEST(where_the_store_keeps_the_order_requests_are_called_at_once)
{
    enum { COUNT = 20 };
    wire self;

    wire_open(&self, "held://");
    put_extends(&self, COUNT);
    await_called(COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(held.numbers[i], i);
    release(&self);
    receive_extended(&self, COUNT);
    wire_close(&self);
}

/* A reply says that the store is in reach. The last one waits when the gateway ends. */
TEST(a_backend_that_replies_alone_is_called_when_the_store_has_answered)
{
    const char *const extend[] = {"token", "30000", "1", NULL};
    wire self;

    held_backend.replies_alone = replies_alone_held;
    held_backend.contact = contact_held;
    wire_open(&self, "held://");
    held.released = 1;
    wire_call(self.fd, ILK__SCRIPT_LOCK_EXTEND, 2, extend);
    await_count(&held.contacts, 1);
    assert_int_equal(called(&held.called), 0);
    answer_contact(&self, "");
    wire_receives(&self, IS_LOST);
    wire_call(self.fd, ILK__SCRIPT_LOCK_EXTEND, 2, extend);
    await_count(&held.contacts, 2);
    answer_contact(&self, "ILKDOWN no server answers");
    wire_receives(&self, "-ILKDOWN no server answers\r\n");
    wire_call(self.fd, ILK__SCRIPT_LOCK_EXTEND, 2, extend);
    await_count(&held.contacts, 3);
    assert_int_equal(called(&held.called), 1);
    wire_close(&self);
    held_backend.replies_alone = NULL;
    held_backend.contact = NULL;
}

TEST(even_there_a_token_s_requests_come_one_after_another)
{
    const char *const extend[] = {"token", "30000", "1", NULL};
    const char *const other[] = {"other", "30000", "1", NULL};
    wire self;

    wire_open(&self, "held://");
    wire_call(self.fd, ILK__SCRIPT_LOCK_EXTEND, 2, extend);
    wire_call(self.fd, ILK__SCRIPT_LOCK_EXTEND, 2, extend);
    wire_call(self.fd, ILK__SCRIPT_LOCK_EXTEND, 2, other); /* same keys */
    wire_put(&self, "*1\r\n$4\r\nPING\r\n");
    await_called(1);
    fixture_sleep_ms(50);
    assert_int_equal(called(&held.called), 1);
    release(&self);
    wire_receives(&self, IS_LOST IS_LOST IS_LOST "+PONG\r\n");
    assert_int_equal(called(&held.called), 3);
    wire_close(&self);
}

TEST(members_of_a_group_wait_for_their_own_requests_only)
{
    const char *const one[] = {"one", "token", "30000", "1", NULL};
    const char *const two[] = {"two", "other", "30000", "1", NULL};
    wire self;

    held_backend.keeps_order = 0;
    wire_open(&self, "held://");
    wire_call(self.fd, ILK__SCRIPT_GROUP_RENEW, 6, one);
    wire_call(self.fd, ILK__SCRIPT_GROUP_RENEW, 6, two); /* same keys */
    wire_call(self.fd, ILK__SCRIPT_GROUP_RENEW, 6, one);
    wire_put(&self, "*1\r\n$4\r\nPING\r\n");
    await_called(2);
    fixture_sleep_ms(50);
    assert_int_equal(called(&held.called), 2);
    release(&self);
    wire_receives(&self, GROUP_IS_LOST GROUP_IS_LOST GROUP_IS_LOST "+PONG\r\n");
    assert_int_equal(called(&held.called), 3);
    wire_close(&self);
    held_backend.keeps_order = 1;
}

/* ---- limits ---------------------------------------------------------------- */

TEST(more_requests_are_read_when_there_is_room)
{
    enum { MOST = 4096, COUNT = MOST + 100 }; /* a socket holds 100 */
    wire self;

    wire_open(&self, "held://");
    put_extends(&self, COUNT);
    await_called(MOST);
    fixture_sleep_ms(50);
    assert_int_equal(called(&held.called), MOST);
    release(&self);
    receive_extended(&self, COUNT);
    assert_int_equal(called(&held.called), COUNT);
    wire_close(&self);
}

TEST(a_connection_too_many_is_refused)
{
    enum { MOST = 128 };
    int fds[MOST], one;
    ilk_error err = {0};
    wire self;

    wire_open(&self, "memory://");
    for (int i = 1; i < MOST; i++)
        wire_connect(&self, &fds[i]);
    assert_int_equal(ilk__gateway_connect(self.gateway, &one, &err), ILK_ECONN);
    assert_string_equal(err.msg, "over 128 connections to the gateway");
    wire_put(&self, "*1\r\n$4\r\nPING\r\n");
    wire_receives(&self, "+PONG\r\n");
    close(fds[1]);
    for (int64_t until = fixture_now_ms() + patience(5000);
         ilk__gateway_connect(self.gateway, &fds[1], &err);) {
        assert_true(fixture_now_ms() < until);
        fixture_sleep_ms(1);
    }
    for (int i = 1; i < MOST; i++)
        close(fds[i]);
    wire_close(&self);
}

TEST(a_command_may_be_longer_than_a_reply)
{
    enum { LEN = ILK__REPLY_BYTES + 1000 };
    char head[64], *text = malloc(LEN + 2);
    wire self;

    assert_non_null(text);
    memset(text, 'x', LEN);
    memcpy(text + LEN, "\r\n", 2);
    wire_open(&self, "memory://");
    snprintf(head, sizeof head, "*3\r\n$3\r\nSET\r\n$4\r\nlong\r\n$%d\r\n",
             LEN);
    wire_put(&self, head);
    assert_int_equal(send(self.fd, text, LEN + 2, MSG_NOSIGNAL), LEN + 2);
    wire_receives(&self, "+OK\r\n");
    wire_put(&self, "*2\r\n$6\r\nSTRLEN\r\n$4\r\nlong\r\n");
    snprintf(head, sizeof head, ":%d\r\n", LEN);
    wire_receives(&self, head);
    wire_close(&self);
    free(text);
    memory_backend_reset();
}

/* Send PINGs until nothing is taken for a while; returns how many bytes were. */
static size_t put_pings(const wire *self, size_t most)
{
    static const char ping[] = "*1\r\n$4\r\nPING\r\n";
    char text[1024 * (sizeof ping - 1)];
    size_t sent = 0;

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = ping[i % (sizeof ping - 1)];
    while (sent < most) {
        size_t at = sent % sizeof text;
        ssize_t n = send(self->fd, text + at, sizeof text - at,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        struct pollfd writable = {.fd = self->fd, .events = POLLOUT};

        if (n > 0)
            sent += (size_t)n;
        else if (poll(&writable, 1, (int)patience(300)) == 0)
            break;
    }
    return sent;
}

/* No reply is lost, and what is unsent stays below a bound. */
TEST(a_client_that_reads_nothing_is_not_read_any_more)
{
    enum { MOST = 64 * 1024 * 1024, LEAST = 1024 * 1024, PING = 14, PONG = 7 };
    static char got[64 * 1024];
    size_t sent, expected, received = 0;
    wire self;

    wire_open(&self, "memory://");
    sent = put_pings(&self, MOST);
    assert_in_range(sent, LEAST, MOST / 4);
    expected = sent / PING * PONG;
    while (received < expected) {
        ssize_t n = recv(self.fd, got, sizeof got, 0);

        assert_true(n > 0);
        for (ssize_t i = 0; i < n; i++)
            assert_int_equal(got[i],
                             "+PONG\r\n"[(received + (size_t)i) % PONG]);
        received += (size_t)n;
    }
    assert_int_equal(received, expected);
    wire_close(&self);
}

TEST(a_subscriber_that_reads_nothing_is_closed)
{
    static char got[64 * 1024];
    size_t received = 0;
    ssize_t n;
    int other;
    wire self;

    wire_open(&self, "held://");
    wire_connect(&self, &other);
    held.published = 1024 * 1024;
    wire_put(&self, "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n");
    wire_receives(&self, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    for (int i = 0; i < 40; i++) {
        char text[256];
        size_t len = write_extend(text, sizeof text, i);

        assert_int_equal(send(other, text, len, MSG_NOSIGNAL), len);
    }
    await_called(40);
    while ((n = recv(self.fd, got, sizeof got, 0)) > 0)
        received += (size_t)n;
    assert_int_equal(n, 0);
    assert_true(received < 32 * 1024 * 1024);
    close(other);
    wire_close(&self);
}

/* ---- messages --------------------------------------------------------------- */

TEST(a_message_comes_after_the_confirmation)
{
    wire self;

    wire_open(&self, "held://");
    held.published = 1;
    release(&self); /* replies come in the turn after the call */
    for (int i = 0; i < 20; i++) {
        char text[512] = "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n";
        size_t len = strlen(text);

        (void)write_extend(text + len, sizeof text - len, i);
        wire_put(&self, text); /* at once: one turn executes both */
        snprintf(text, sizeof text,
                 "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"
                 "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n"
                 "*4\r\n:%d" NO_EVIDENCE,
                 i * 64 + LOST);
        wire_receives(&self, text);
        wire_put(&self, "*2\r\n$11\r\nUNSUBSCRIBE\r\n$1\r\nc\r\n");
        wire_receives(&self, "*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n");
    }
    wire_close(&self);
}

/* ---- descriptors ------------------------------------------------------------- */

/* EBUSY: another thread is about to open a file with this number, see dup(2). */
static void take_number(int mine, int fd)
{
    int got;

    do
        got = dup3(mine, fd, O_CLOEXEC);
    while (got < 0 && errno == EBUSY);
    demand(got == fd);
}

/* As programs do that become daemons: their own files get the numbers. */
static void close_all_and_use_the_numbers(void)
{
    enum { FIRST = 3, MOST = 64 };
    wire self;
    int fd, mine;

    wire_open(&self, "memory://");
    wire_put(&self, "*1\r\n$4\r\nPING\r\n");
    wire_receives(&self, "+PONG\r\n");
    mine = fcntl(open("/dev/null", O_RDWR), F_DUPFD_CLOEXEC, MOST);
    for (fd = FIRST; fd < MOST; fd++)
        take_number(mine, fd);
    while (ilk__gateway_connect(self.gateway, &self.fd, NULL))
        fixture_sleep_ms(1);
    fcntl(self.fd, F_SETFL, 0);
    wire_put(&self, "*1\r\n$4\r\nPING\r\n");
    wire_receives(&self, "+PONG\r\n");
    for (int64_t until = fixture_now_ms() + 200; fixture_now_ms() < until;)
        fixture_sleep_ms(10);
    wire_close(&self);
    for (fd = FIRST; fd < MOST; fd++)
        demand(fcntl(fd, F_GETFD) == FD_CLOEXEC);
    _exit(0);
}

TEST(descriptors_of_the_program_are_not_closed)
{
    pid_t child;

#ifdef __SANITIZE_THREAD__
    skip_because("ThreadSanitizer lets no child of threads start a thread");
#endif
    child = fork_now();
    if (child == 0) {
        alarm(20);
        close_all_and_use_the_numbers();
    }
    assert_ends_well(child);
}

static int register_stores(void)
{
    ilk__backend_register(&memory_backend);
    ilk__backend_register(&held_backend);
    ilk__backend_register(&contacted_backend);
    ilk__backend_register(&pinged_backend);
    return 0;
}

AROUND_ALL(register_stores, NULL);
