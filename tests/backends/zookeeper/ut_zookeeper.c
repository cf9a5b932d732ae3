/* SPDX-License-Identifier: MIT */
/*
 * ut_zookeeper.c -- the backend of ZooKeeper without a server: how long a session lasts
 * by the answers that have come, descriptors that are not the library's any more, and
 * requests for which there is no memory.
 */
#include "backends/zookeeper/zookeeper_store.h"
#include "base/alloc.h"
#include "base/descriptor.h"
#include "cmocka_all.h"
#include "gateway/backend.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

extern const ilk__backend ilk__zk_backend;

enum { SESSION_MS = 10000, PING_MS = 2500 };

/* ---- how long the session lasts ------------------------------------------ */

/* A connection that was opened at 0. */
static ilk__zk connected_store(void)
{
    return (ilk__zk){.session_ms = SESSION_MS, .fd = -1};
}

static void answer(ilk__zk *store, ilk__zk_op_kind kind, int64_t sent_at,
                   int64_t answered_at)
{
    const ilk__zk_op op = {.store = store,
                           .kind = kind,
                           .sent_at = sent_at,
                           .answered_at = answered_at};

    ilk__zk_note_answer(store, &op);
}

static void a_session_lasts_from_its_connection_on(void **state)
{
    ilk__zk store = connected_store();

    (void)state;
    assert_int_equal(SESSION_MS, ilk__zk_session_end(&store));
}

/* A follower without its leader answers, too. */
static void answers_without_the_leader_prolong_nothing(void **state)
{
    ilk__zk store = connected_store();

    (void)state;
    for (int64_t at = 1000; at <= 9000; at += 1000)
        answer(&store, ILK__ZK_EXISTS, at, at + 5);
    assert_int_equal(SESSION_MS, ilk__zk_session_end(&store));
}

/* Ticks of 5 s: the leader pings each 2.5 s. */
static void an_answer_counts_when_a_ping_has_followed_it(void **state)
{
    ilk__zk store = connected_store();

    (void)state;
    answer(&store, ILK__ZK_EXISTS, 1000, 1005);
    answer(&store, ILK__ZK_SYNC, 1005 + PING_MS - 1, 1005 + PING_MS);
    assert_int_equal(SESSION_MS, ilk__zk_session_end(&store));
    answer(&store, ILK__ZK_SYNC, 1005 + PING_MS, 1010 + PING_MS);
    assert_int_equal(1000 + SESSION_MS, ilk__zk_session_end(&store));
}

/* Both may have waited in the network, and reached the server together. */
static void an_answer_that_came_late_counts_late(void **state)
{
    ilk__zk store = connected_store();

    (void)state;
    answer(&store, ILK__ZK_EXISTS, 1000, 4000);
    answer(&store, ILK__ZK_SYNC, 1000 + PING_MS, 4000);
    assert_int_equal(SESSION_MS, ilk__zk_session_end(&store));
    answer(&store, ILK__ZK_CREATE, 4000 + PING_MS, 4005 + PING_MS);
    assert_int_equal(1000 + PING_MS + SESSION_MS, ilk__zk_session_end(&store));
}

static void requests_without_an_answer_prolong_nothing(void **state)
{
    ilk__zk store = connected_store();
    const ilk__zk_op lost = {.store = &store,
                             .kind = ILK__ZK_SYNC,
                             .sent_at = 9000,
                             .answered_at = 9005,
                             .rc = ZCONNECTIONLOSS};

    (void)state;
    answer(&store, ILK__ZK_EXISTS, 1000, 1005);
    ilk__zk_note_answer(&store, &lost);
    assert_int_equal(SESSION_MS, ilk__zk_session_end(&store));
}

/* Of many answers some are kept, over a whole timeout. */
static void a_busy_session_is_known_to_last(void **state)
{
    ilk__zk store = connected_store();

    (void)state;
    for (int64_t at = 10; at <= 40000; at += 10)
        answer(&store, ILK__ZK_SYNC, at, at + 5);
    assert_in_range(ilk__zk_session_end(&store),
                    40000 - PING_MS - SESSION_MS / 8 + SESSION_MS,
                    40000 - PING_MS + SESSION_MS);
}

/* ---- descriptors --------------------------------------------------------- */

static void assert_works(const int pair[2])
{
    char byte = 0;

    assert_int_equal(1, send(pair[0], "x", 1, MSG_NOSIGNAL));
    assert_int_equal(1, recv(pair[1], &byte, 1, MSG_DONTWAIT));
    assert_int_equal('x', byte);
}

/* Fill it, so that it is not writable. */
static void fill(int fd)
{
    static const char bytes[65536];

    while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        continue;
}

/* A store whose socket had the number that this one has now. */
static void make_stale(ilk__zk *store, int pair[2])
{
    *store = connected_store();
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    store->fd = pair[0];
    store->identity = ilk__descriptor_identity(pair[1]);
}

static void close_pair(const int pair[2])
{
    close(pair[0]);
    close(pair[1]);
}

static void a_forked_child_closes_no_descriptor_of_its_own(void **state)
{
    ilk__zk store;
    int pair[2];

    (void)state;
    make_stale(&store, pair);
    ilk__zk_backend.abandon(&store);
    assert_works(pair);
    close_pair(pair);
}

static void a_forked_child_closes_its_copy(void **state)
{
    ilk__zk store;
    int pair[2];
    char byte;

    (void)state;
    make_stale(&store, pair);
    store.identity = ilk__descriptor_identity(pair[0]);
    ilk__zk_backend.abandon(&store);
    assert_int_equal(0, recv(pair[1], &byte, 1, 0));
    close(pair[1]);
}

static void no_session(zhandle_t *handle, int type, int state, const char *path,
                       void *context)
{
    (void)handle;
    (void)type;
    (void)state;
    (void)path;
    (void)context;
}

/* It never connects. */
static void open_handle(ilk__zk *store)
{
    store->handle = zookeeper_init("127.0.0.1:1", no_session, SESSION_MS, NULL,
                                   NULL, ZOO_NO_LOG_CLIENTENV);
    assert_non_null(store->handle);
}

static void the_end_of_a_session_shuts_no_other_socket(void **state)
{
    ilk__zk store;
    int pair[2];
    char byte;

    (void)state;
    make_stale(&store, pair);
    open_handle(&store);
    fill(pair[0]);
    ilk__zk_shut(&store);
    while (recv(pair[1], &byte, 1, MSG_DONTWAIT) == 1)
        continue;
    assert_works(pair);
    close_pair(pair);
}

/* ---- memory -------------------------------------------------------------- */

/* A client waits for the name "orders". */
typedef struct waiting {
    ilk__zk store;
    ilk__zk_name *name;
    ilk__contended contended;
    ilk__contender contender;
} waiting;

static void begin_waiting(waiting *self)
{
    static char path[] = "/test", key[] = "orders";

    *self = (waiting){.store = connected_store(),
                      .contended = {.key = {key, sizeof key - 1}},
                      .contender = {.state = ILK__CONTENDER_WAITS}};
    open_handle(&self->store);
    self->store.path = path;
    self->store.state = ILK__ZK_READY;
    self->contended.first = self->contended.last = &self->contender;
    assert_int_equal(
        ILK_OK, ilk__zk_name_find(&self->name, &self->store, &self->contended));
}

static int count_requests(const ilk__zk *store)
{
    int count = 0;

    for (const ilk__zk_op *op = store->first; op; op = op->next)
        count++;
    return count;
}

static void end_waiting(waiting *self)
{
    self->store.is_closing = 1;
    ilk__zk_shut(&self->store);
    ilk__zk_act(&self->store);
    ilk__zk_forget_name(&self->store, &self->contended);
}

/* Without the sync a create whose answer was lost might not be in the list. */
static void no_list_is_read_without_its_sync(void **state)
{
    waiting self;

    (void)state;
    begin_waiting(&self);
    ilk__zk_name_must_read(self.name);
    for (long n = 1; n <= 2; n++) {
        ilk__alloc_fail_at(n);
        ilk__zk_names_flush(&self.store);
        ilk__alloc_fail_at(0);
        assert_int_equal(0, count_requests(&self.store));
        assert_true(self.name->must_read);
        self.name->read_at = 0;
    }
    ilk__zk_names_flush(&self.store);
    assert_int_equal(2, count_requests(&self.store));
    assert_int_equal(ILK__ZK_SYNC, self.store.first->kind);
    end_waiting(&self);
}

static void a_connection_without_its_sync_is_cut(void **state)
{
    waiting self;
    int pair[2];

    (void)state;
    begin_waiting(&self);
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    self.store.fd = pair[0];
    self.store.identity = ilk__descriptor_identity(pair[0]);
    ilk__alloc_fail_at(1);
    ilk__zk_session_changed(&self.store, ZOO_CONNECTED_STATE);
    ilk__alloc_fail_at(0);
    assert_int_equal(0, count_requests(&self.store));
    assert_int_equal(ILK__ZK_CONNECTS, self.store.state);
    assert_true(self.store.is_cut);
    end_waiting(&self);
    close_pair(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_lasts_from_its_connection_on),
        cmocka_unit_test(answers_without_the_leader_prolong_nothing),
        cmocka_unit_test(an_answer_counts_when_a_ping_has_followed_it),
        cmocka_unit_test(an_answer_that_came_late_counts_late),
        cmocka_unit_test(requests_without_an_answer_prolong_nothing),
        cmocka_unit_test(a_busy_session_is_known_to_last),
        cmocka_unit_test(a_forked_child_closes_no_descriptor_of_its_own),
        cmocka_unit_test(a_forked_child_closes_its_copy),
        cmocka_unit_test(the_end_of_a_session_shuts_no_other_socket),
        cmocka_unit_test(no_list_is_read_without_its_sync),
        cmocka_unit_test(a_connection_without_its_sync_is_cut),
    };

    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
