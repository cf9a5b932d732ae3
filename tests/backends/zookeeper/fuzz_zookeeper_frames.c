/* SPDX-License-Identifier: MIT */
/*
 * fuzz_zookeeper_frames.c -- any bytes as the frames of a ZooKeeper server, while
 * requests are under way; and what its answers contain as names, data and limits.
 *
 * The first byte is how many requests there are, at most 15, with 16 added when the
 * session is not open yet. A byte for the kind of each follows, and then the frames.
 */
#include "fuzz.h"

#include "base/alloc.h"
#include "stores/zookeeper/zookeeper_store.h"

enum { REQUESTS = 15, OPENS = 16, KINDS = 8 };

static const char node[] = "/t/a";

/* ---- answers --------------------------------------------------------------- */

static void read_names(const ilk__zk_op *op)
{
    for (ilk__contended_kind kind = ILK__CONTENDED_LOCK;
         kind <= ILK__CONTENDED_ELECTION; kind++) {
        ilk__zk_name name = {.kind = kind};
        size_t count = 0;
        ilk__zk_listed *list = ilk__zk_sorted(&name, op, &count);

        CHECK(list && count <= op->child_count);
        for (size_t i = 1; i < count; i++)
            CHECK(list[i - 1].order <= list[i].order);
        ilk__free(list);
    }
    for (size_t i = 0; i < op->child_count; i++) {
        const ilk__span text = {op->children[i], strlen(op->children[i])};
        char *out = fuzz_copy(text.at, text.len);

        CHECK(text.len && !memchr(text.at, '/', text.len));
        CHECK(ilk__zk_decode(out, text) <= text.len);
        free(out);
    }
}

static void read_data(ilk__zk_op *op)
{
    ilk__zk_name name = {.kind = ILK__CONTENDED_SEMAPHORE};
    ilk__span token, who, value;
    int64_t since;

    ilk__zk_data_parse((ilk__span){op->text, op->text_len}, &since, &token,
                       &who, &value);
    CHECK(since >= 0 && token.len + who.len + value.len <= op->text_len);
    ilk__zk_limit_parse(&name, op);
    CHECK(name.limit >= 0 && name.base >= 0);
}

static void has_answer(ilk__zk_op *op)
{
    CHECK(op->rc >= ILK__ZK_CODE_LEAST && op->rc <= ILK__ZK_CLOSING);
    if (op->rc == ILK__ZK_OK && op->kind == ILK__ZK_CHILDREN)
        read_names(op);
    if (op->rc == ILK__ZK_OK && op->kind == ILK__ZK_GET)
        read_data(op);
    if (op->rc == ILK__ZK_OK && op->kind == ILK__ZK_CREATE)
        CHECK(op->stat.czxid > 0
              && strncmp(op->text, op->asked, strlen(op->asked)) == 0);
}

/* ---- requests -------------------------------------------------------------- */

static void send_one(ilk__zk *store, unsigned kind)
{
    ilk__zk_op *op = ilk__zk_op_new(store, has_answer, NULL, NULL, NULL);
    const ilk__span acl = {"\0\0\0\0", 4}, data = {"x", 1};

    CHECK(op != NULL);
    op->watch_for = kind;
    switch ((ilk__zk_op_kind)kind) {
    case ILK__ZK_CREATE:
        ilk__zk_create(op, node, data, ILK__ZK_EPHEMERAL_SEQUENTIAL, acl);
        break;
    case ILK__ZK_DELETE: ilk__zk_delete(op, node); break;
    case ILK__ZK_EXISTS: ilk__zk_exists(op, node, 1); break;
    case ILK__ZK_GET: ilk__zk_get(op, node, 1); break;
    case ILK__ZK_SET: ilk__zk_set(op, node, data, -1); break;
    case ILK__ZK_CHILDREN: ilk__zk_children(op, node, 1); break;
    case ILK__ZK_SYNC: ilk__zk_sync_for(op); break;
    case ILK__ZK_ACL: ilk__zk_read_acl(op, node); break;
    }
}

static void take_frames(ilk__zk *store, const fuzz_input *in)
{
    ilk_error err = {.msg = ""};
    ilk__span frame;
    ilk_status st;

    CHECK(!ilk__buf_add(&store->conn->in, in->at, in->left));
    do {
        st = ilk__zk_conn_next(store->conn, &frame, &err);
        if (st == ILK_OK) {
            /* Of its own size: a sanitizer sees a read beyond its end. */
            char *copy = malloc(frame.len);

            CHECK(copy != NULL);
            memcpy(copy, frame.at, frame.len);
            st = ilk__zk_take_frame(store, (ilk__span){copy, frame.len}, &err);
            free(copy);
        }
    } while (st == ILK_OK);
    CHECK(st == ILK_EAGAIN || *err.msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char host[] = "h", path[] = "/t";
    const ilk__url url = {.host = host, .port = 1};
    ilk__zk store = {.host_count = 1, .path = path, .wanted_session_ms = 10000};
    fuzz_input in = {data, size};
    const uint8_t first = fuzz_byte(&in);

    CHECK(ilk__zk_conn_new(&store.conn, &url, 0, ILK__FOREVER, NULL) == ILK_OK);
    if (first & OPENS) {
        take_frames(&store, &in);
    } else {
        store.state = ILK__ZK_PREPARES;
        for (unsigned i = first & REQUESTS; i > 0; i--)
            send_one(&store, fuzz_pick(&in, KINDS));
        take_frames(&store, &in);
    }
    store.state = ILK__ZK_CONNECTS; /* there is nobody to say goodbye to */
    ilk__zk_shut(&store);
    ilk__zk_act(&store);
    CHECK(!store.first && !store.first_answered && !store.watches.count);
    ilk__free(store.acl.data);
    return 0;
}
