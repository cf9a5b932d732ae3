/* SPDX-License-Identifier: MIT */
/*
 * ut_zookeeper.c -- the backend of ZooKeeper without a server: how long a session lasts
 * by the answers that have come, descriptors that are not the library's any more,
 * requests for which there is no memory, and frames of a server that lies.
 */
#include "base/alloc.h"
#include "base/descriptor.h"
#include "gateway/backend.h"
#include "stores/zookeeper/zookeeper_store.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

extern const ilk__backend ilk__zk_backend;

enum { SESSION_MS = 10000, PING_MS = 2500 };

/* ---- how long the session lasts ------------------------------------------ */

/* A connection that was opened at 0. */
static ilk__zk connected_store(void)
{
    return (ilk__zk){.session_ms = SESSION_MS, .host_count = 1};
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

TEST(a_session_lasts_from_its_connection_on)
{
    ilk__zk store = connected_store();

    assert_int_equal(SESSION_MS, ilk__zk_session_end(&store));
}

/* A follower without its leader answers, too. */
TEST(answers_without_the_leader_prolong_nothing)
{
    ilk__zk store = connected_store();

    for (int64_t at = 1000; at <= 9000; at += 1000)
        answer(&store, ILK__ZK_EXISTS, at, at + 5);
    assert_int_equal(SESSION_MS, ilk__zk_session_end(&store));
}

/* Ticks of 5 s: the leader pings each 2.5 s. */
TEST(an_answer_counts_when_a_ping_has_followed_it)
{
    ilk__zk store = connected_store();

    answer(&store, ILK__ZK_EXISTS, 1000, 1005);
    answer(&store, ILK__ZK_SYNC, 1005 + PING_MS - 1, 1005 + PING_MS);
    assert_int_equal(SESSION_MS, ilk__zk_session_end(&store));
    answer(&store, ILK__ZK_SYNC, 1005 + PING_MS, 1010 + PING_MS);
    assert_int_equal(1000 + SESSION_MS, ilk__zk_session_end(&store));
}

/* Both may have waited in the network, and reached the server together. */
TEST(an_answer_that_came_late_counts_late)
{
    ilk__zk store = connected_store();

    answer(&store, ILK__ZK_EXISTS, 1000, 4000);
    answer(&store, ILK__ZK_SYNC, 1000 + PING_MS, 4000);
    assert_int_equal(SESSION_MS, ilk__zk_session_end(&store));
    answer(&store, ILK__ZK_CREATE, 4000 + PING_MS, 4005 + PING_MS);
    assert_int_equal(1000 + PING_MS + SESSION_MS, ilk__zk_session_end(&store));
}

TEST(requests_without_an_answer_prolong_nothing)
{
    ilk__zk store = connected_store();
    const ilk__zk_op lost = {.store = &store,
                             .kind = ILK__ZK_SYNC,
                             .sent_at = 9000,
                             .answered_at = 9005,
                             .rc = ILK__ZK_LOST};

    answer(&store, ILK__ZK_EXISTS, 1000, 1005);
    ilk__zk_note_answer(&store, &lost);
    assert_int_equal(SESSION_MS, ilk__zk_session_end(&store));
}

/* Of many answers some are kept, over a whole timeout. */
TEST(a_busy_session_is_known_to_last)
{
    ilk__zk store = connected_store();

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

static void close_pair(const int pair[2])
{
    close(pair[0]);
    close(pair[1]);
}

/* A store that is connected over a pair of sockets: its end is the first. */
static void connect_pair(ilk__zk *store, int pair[2])
{
    static char host[] = "127.0.0.1";
    static const ilk__url url = {.host = host, .port = 1};

    *store = connected_store();
    assert_int_equal(0,
                     socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair));
    assert_int_equal(
        ILK_OK, ilk__zk_conn_new(&store->conn, &url, 0, ILK__FOREVER, NULL));
    store->conn->socket.fd = pair[0];
    store->conn->socket.stage = ILK__SOCKET_OPEN;
    store->conn->identity = ilk__descriptor_identity(pair[0]);
    store->conn->opened_at = 1;
    store->state = ILK__ZK_READY;
    store->is_asked = 1;
}

/* Its socket had the number that this one has now. */
static void make_stale(ilk__zk *store, int pair[2])
{
    connect_pair(store, pair);
    store->conn->identity = ilk__descriptor_identity(pair[1]);
}

TEST(a_forked_child_closes_no_descriptor_of_its_own)
{
    ilk__zk store;
    int pair[2];

    make_stale(&store, pair);
    ilk__zk_backend.abandon(&store);
    assert_works(pair);
    ilk__zk_conn_free(store.conn);
    close_pair(pair);
}

TEST(a_forked_child_closes_its_copy)
{
    ilk__zk store;
    int pair[2];
    char byte;

    connect_pair(&store, pair);
    ilk__zk_backend.abandon(&store);
    assert_int_equal(0, recv(pair[1], &byte, 1, 0));
    ilk__zk_conn_free(store.conn);
    close(pair[1]);
}

TEST(the_end_of_a_session_shuts_no_other_socket)
{
    ilk__zk store;
    int pair[2];
    char byte;

    make_stale(&store, pair);
    fill(pair[0]);
    ilk__zk_shut(&store);
    while (recv(pair[1], &byte, 1, MSG_DONTWAIT) == 1)
        continue;
    assert_works(pair);
    close_pair(pair);
}

/* It does not wait until the server reads. */
TEST(the_end_of_a_session_waits_for_nobody)
{
    ilk__zk store;
    int pair[2];

    connect_pair(&store, pair);
    fill(pair[0]);
    ilk__zk_shut(&store); /* ctest's limit ends it, if it hangs */
    assert_null(store.conn);
    close(pair[1]);
}

/* ---- memory -------------------------------------------------------------- */

/* A client waits for the name "orders". */
typedef struct waiting {
    ilk__zk store;
    int pair[2];
    ilk__zk_name *name;
    ilk__contended contended;
    ilk__contender contender;
} waiting;

static void begin_waiting(waiting *self)
{
    static char path[] = "/test", key[] = "orders";

    *self = (waiting){.contended = {.key = {key, sizeof key - 1}},
                      .contender = {.state = ILK__CONTENDER_WAITS}};
    connect_pair(&self->store, self->pair);
    self->store.path = path;
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
    close(self->pair[1]);
}

/* Without the sync a create whose answer was lost might not be in the list. */
TEST(no_list_is_read_without_its_sync)
{
    waiting self;

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

static ilk_status take(ilk__zk *store, const void *frame, size_t len)
{
    ilk_error err = {.msg = ""};

    return ilk__zk_take_frame(store, (ilk__span){frame, len}, &err);
}

TEST(a_connection_without_its_sync_is_not_used)
{
    static const char session[36] = {
        [6] = 0x27, [7] = 0x10, [15] = 1, [19] = 16};
    waiting self;

    begin_waiting(&self);
    self.store.state = ILK__ZK_CONNECTS;
    ilk__alloc_fail_at(1);
    assert_int_equal(ILK_ENOMEM, take(&self.store, session, sizeof session));
    ilk__alloc_fail_at(0);
    assert_int_equal(0, count_requests(&self.store));
    end_waiting(&self);
}

/* ---- the order of nodes -------------------------------------------------- */

static void assert_order(char *const *names, size_t count,
                         const char *const *expected)
{
    const ilk__zk_name name = {.kind = ILK__CONTENDED_LOCK};
    const ilk__zk_op op = {.children = (char **)names, .child_count = count};
    size_t found = 0;
    ilk__zk_listed *list = ilk__zk_sorted(&name, &op, &found);

    assert_int_equal(count, found);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(expected[i], list[i].node);
    ilk__free(list);
}

TEST(the_order_goes_on_behind_the_greatest_number)
{
    static char late[] = "a-lock--2147483648", mid[] = "b-lock-2147483647",
                early[] = "c-lock-2147483600";
    char *names[] = {late, early, mid};
    const char *const expected[] = {early, mid, late};

    assert_order(names, 3, expected);
}

/* Each is before the next one, and the last before the first. */
TEST(numbers_that_lie_all_around_have_an_order)
{
    static char a[] = "a-lock-0000000000", b[] = "b-lock-1500000000",
                c[] = "c-lock--1294967296";
    char *names[][3] = {{a, b, c}, {b, c, a}, {c, a, b}};

    for (size_t i = 0; i < 3; i++) {
        const ilk__zk_name name = {.kind = ILK__CONTENDED_LOCK};
        const ilk__zk_op op = {.children = names[i], .child_count = 3};
        size_t count = 0;
        ilk__zk_listed *list = ilk__zk_sorted(&name, &op, &count);

        assert_int_equal(3, count);
        assert_int_equal(0, list[0].order);
        assert_true(list[0].order < list[1].order);
        assert_true(list[1].order < list[2].order);
        ilk__free(list);
    }
}

/* ---- frames of a server that lies ---------------------------------------- */

enum { CZXID = 7, PASSWORD = 16 };

/* A frame of the server, without its length. */
typedef struct frame {
    char bytes[256];
    size_t len;
} frame;

static void put_int(frame *to, int32_t number)
{
    to->len =
        (size_t)(ilk__zk_put_int(to->bytes + to->len, number) - to->bytes);
}

static void put_long(frame *to, int64_t number)
{
    to->len =
        (size_t)(ilk__zk_put_long(to->bytes + to->len, number) - to->bytes);
}

static void put_text(frame *to, const char *text)
{
    to->len = (size_t)(ilk__zk_put_text(to->bytes + to->len, text) - to->bytes);
}

static frame reply_to(int32_t xid, int64_t zxid, int32_t code)
{
    frame made = {.len = 0};

    put_int(&made, xid);
    put_long(&made, zxid);
    put_int(&made, code);
    return made;
}

static void put_stat(frame *to)
{
    put_long(to, CZXID);
    for (int i = 0; i < 15; i++)
        put_int(to, 0);
}

static frame session_of(int64_t id, int32_t timeout, int32_t password)
{
    frame made = {.len = 0};

    put_int(&made, 0);
    put_int(&made, timeout);
    put_long(&made, id);
    put_int(&made, password);
    made.len += PASSWORD;
    return made;
}

/* A connected store with one request, and what has become of it. */
typedef struct asking {
    ilk__zk store;
    int pair[2];
    ilk__zk_op *op;
} asking;

static int ends, end_code;
static size_t end_count;

static void note_end(ilk__zk_op *op)
{
    ends++;
    end_code = op->rc;
    end_count = op->child_count;
}

static void begin_asking(asking *self, ilk__zk_op_kind kind)
{
    ends = 0;
    connect_pair(&self->store, self->pair);
    self->op = ilk__zk_op_new(&self->store, note_end, NULL, NULL, NULL);
    self->op->watch_for = 1;
    if (kind == ILK__ZK_GET)
        ilk__zk_get(self->op, "/test/a", 1);
    else if (kind == ILK__ZK_CHILDREN)
        ilk__zk_children(self->op, "/test/a", 1);
    else
        ilk__zk_create(self->op, "/test/a", (ilk__span){"x", 1},
                       ILK__ZK_EPHEMERAL_SEQUENTIAL, (ilk__span){"", 0});
}

static void end_asking(asking *self)
{
    ilk__zk_shut(&self->store);
    ilk__zk_act(&self->store);
    close(self->pair[1]);
}

/* It ends the connection, and the request is without an answer until then. */
static void assert_refused(asking *self, const frame *one)
{
    /* Of its own size: a sanitizer sees a read beyond its end. */
    char *copy = malloc(one->len);

    memcpy(copy, one->bytes, one->len);
    assert_int_equal(ILK_EREPLY, take(&self->store, copy, one->len));
    free(copy);
    assert_int_equal(0, ends);
}

static void assert_refused_by(ilk__zk_op_kind kind, const frame *one)
{
    asking self;

    begin_asking(&self, kind);
    assert_refused(&self, one);
    end_asking(&self);
    assert_int_equal(1, ends);
    assert_int_equal(ILK__ZK_CLOSING, end_code);
}

TEST(a_length_within_a_reply_ends_with_the_frame)
{
    static const int32_t lengths[] = {INT32_MAX, INT32_MAX - 255, 9, -2,
                                      INT32_MIN};

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        frame one = reply_to(1, 1, 0);

        put_int(&one, lengths[i]);
        put_long(&one, 0);
        assert_refused_by(ILK__ZK_GET, &one);
        assert_refused_by(ILK__ZK_CREATE, &one);
        if (lengths[i] != 9) /* less than the frame has */
            assert_refused_by(ILK__ZK_CHILDREN, &one);
    }
}

TEST(a_reply_without_its_record_is_refused)
{
    const frame one = reply_to(1, 1, 0);
    frame cut = reply_to(1, 1, 0);

    put_text(&cut, "data");
    put_stat(&cut);
    cut.len--;
    assert_refused_by(ILK__ZK_GET, &one);
    assert_refused_by(ILK__ZK_CHILDREN, &one);
    assert_refused_by(ILK__ZK_CREATE, &one);
    assert_refused_by(ILK__ZK_GET, &cut);
}

TEST(a_list_has_no_more_names_than_its_frame)
{
    static const int32_t counts[] = {INT32_MAX, INT32_MAX - 15, 2, -2};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        frame one = reply_to(1, 1, 0);

        put_int(&one, counts[i]);
        put_text(&one, "child");
        assert_refused_by(ILK__ZK_CHILDREN, &one);
    }
}

TEST(a_name_that_no_node_has_is_refused)
{
    static const char *const names[] = {"", "/", "../a", "a/b"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        frame one = reply_to(1, 1, 0);

        put_int(&one, 1);
        put_text(&one, names[i]);
        assert_refused_by(ILK__ZK_CHILDREN, &one);
    }
}

TEST(a_created_node_has_the_requested_path)
{
    static const char *const paths[] = {"/test/b0000000001", "/test/a", "",
                                        "/test/a00000000x1",
                                        "/test/a00000000011"};
    frame zero = reply_to(1, 1, 0);

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        frame one = reply_to(1, 1, 0);

        put_text(&one, paths[i]);
        put_stat(&one);
        assert_refused_by(ILK__ZK_CREATE, &one);
    }
    put_text(&zero, "/test/a0000000001");
    zero.len += 68; /* whose czxid, the fence, is 0 */
    assert_refused_by(ILK__ZK_CREATE, &zero);
}

TEST(a_reply_belongs_to_the_oldest_request)
{
    static const int32_t xids[] = {0, 2, INT32_MAX, INT32_MIN, -2, -4, -8};

    for (size_t i = 0; i < sizeof xids / sizeof xids[0]; i++) {
        const frame one = reply_to(xids[i], 1, 0);

        assert_refused_by(ILK__ZK_GET, &one);
    }
}

TEST(a_reply_without_a_request_is_refused)
{
    asking self;
    frame one = reply_to(1, 1, 0);

    begin_asking(&self, ILK__ZK_CHILDREN);
    put_int(&one, 1);
    put_text(&one, "child");
    assert_int_equal(ILK_OK, take(&self.store, one.bytes, one.len));
    assert_int_equal(1, ends);
    assert_int_equal(1, end_count);
    assert_int_equal(ILK_EREPLY, take(&self.store, one.bytes, one.len));
    end_asking(&self);
    assert_int_equal(1, ends);
}

TEST(a_code_that_no_server_has_is_refused)
{
    static const int32_t codes[] = {1, 7, INT32_MAX, -1000, INT32_MIN};
    const frame refusal = reply_to(1, 1, -199);
    asking self;

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        const frame one = reply_to(1, 1, codes[i]);

        assert_refused_by(ILK__ZK_GET, &one);
    }
    begin_asking(&self, ILK__ZK_GET); /* a newer server's may be */
    assert_int_equal(ILK_OK, take(&self.store, refusal.bytes, refusal.len));
    assert_int_equal(-199, end_code);
    end_asking(&self);
}

TEST(a_server_that_has_lost_transactions_is_left)
{
    const frame one = reply_to(1, 99, 0);
    asking self;

    begin_asking(&self, ILK__ZK_GET);
    self.store.zxid = 100;
    assert_refused(&self, &one);
    assert_int_equal(0, self.store.zxid);
    end_asking(&self);
}

/* One that makes no sense must not keep honest servers out. */
TEST(only_an_answer_raises_the_zxid)
{
    const frame one = reply_to(2, INT64_MAX, 0);
    asking self;

    begin_asking(&self, ILK__ZK_GET);
    assert_refused(&self, &one);
    assert_int_equal(0, self.store.zxid);
    end_asking(&self);
}

static frame event_of(int32_t kind, const char *path)
{
    frame made = reply_to(-1, -1, 0);

    put_int(&made, kind);
    put_int(&made, 3);
    put_text(&made, path);
    return made;
}

TEST(an_event_that_makes_no_sense_is_refused)
{
    const frame kinds[] = {event_of(0, "/test/a"), event_of(5, "/test/a"),
                           event_of(-1, "/test/a"), event_of(3, "a"),
                           event_of(3, "")};
    frame huge = event_of(3, "/test/a");

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        assert_refused_by(ILK__ZK_GET, &kinds[i]);
    (void)ilk__zk_put_int(huge.bytes + 24, INT32_MAX);
    assert_refused_by(ILK__ZK_GET, &huge);
    (void)ilk__zk_put_int(huge.bytes + 24, -2);
    assert_refused_by(ILK__ZK_GET, &huge);
}

TEST(an_event_fires_only_its_watches)
{
    const frame other = event_of(2, "/test/b"), own = event_of(2, "/test/a");
    frame one = reply_to(1, 1, 0);
    asking self;

    begin_asking(&self, ILK__ZK_GET);
    assert_int_equal(ILK_OK, take(&self.store, own.bytes, own.len));
    put_text(&one, "data");
    put_stat(&one);
    assert_int_equal(ILK_OK, take(&self.store, one.bytes, one.len));
    assert_int_equal(1, self.store.watches.count);
    assert_int_equal(ILK_OK, take(&self.store, other.bytes, other.len));
    assert_int_equal(1, self.store.watches.count);
    assert_int_equal(ILK_OK, take(&self.store, own.bytes, own.len));
    assert_int_equal(0, self.store.watches.count);
    end_asking(&self);
}

static void assert_no_session(int64_t had, const frame *one)
{
    ilk__zk store;
    int pair[2];

    connect_pair(&store, pair);
    store.state = ILK__ZK_CONNECTS;
    store.session_id = had;
    assert_int_equal(ILK_EREPLY, take(&store, one->bytes, one->len));
    assert_int_equal(had, store.session_id);
    assert_int_equal(ILK__ZK_CONNECTS, store.state);
    ilk__zk_shut(&store);
    close(pair[1]);
}

TEST(a_session_that_makes_no_sense_is_refused)
{
    const frame sessions[] = {
        session_of(0, 10000, PASSWORD),     session_of(1, 0, PASSWORD),
        session_of(1, -1, PASSWORD),        session_of(1, 1, PASSWORD),
        session_of(1, INT32_MAX, PASSWORD), session_of(1, 10000, INT32_MAX),
        session_of(1, 10000, -2),           session_of(1, 10000, PASSWORD - 1)};
    const frame other = session_of(2, 10000, PASSWORD);

    for (size_t i = 0; i < sizeof sessions / sizeof sessions[0]; i++)
        assert_no_session(0, &sessions[i]);
    assert_no_session(1, &other);
}

/* The first frame of these bytes. */
static ilk_status first_frame(const char *bytes, size_t len)
{
    ilk__buf in = {.data = NULL};
    ilk__span out;
    ilk_status st;

    assert_int_equal(ILK_OK, ilk__buf_add(&in, bytes, len));
    st = ilk__zk_first_frame(&in, &out, NULL);
    ilk__buf_free(&in);
    return st;
}

TEST(the_length_of_a_frame_has_bounds)
{
    static const int32_t lengths[] = {
        0, -1, INT32_MIN, INT32_MAX, ILK__ZK_HEAD - 1, ILK__ZK_FRAME_MOST + 1};
    char bytes[64] = {0};

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        (void)ilk__zk_put_int(bytes, lengths[i]);
        assert_int_equal(ILK_EREPLY, first_frame(bytes, sizeof bytes));
    }
    (void)ilk__zk_put_int(bytes, ILK__ZK_FRAME_MOST);
    assert_int_equal(ILK_EAGAIN, first_frame(bytes, sizeof bytes));
    assert_int_equal(ILK_EAGAIN, first_frame(bytes, 3));
    (void)ilk__zk_put_int(bytes, 60);
    assert_int_equal(ILK_OK, first_frame(bytes, sizeof bytes));
}
