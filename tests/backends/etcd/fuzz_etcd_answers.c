/* SPDX-License-Identifier: MIT */
/*
 * fuzz_etcd_answers.c -- any bytes as the frames of one kind of etcd's answers, and
 * as the text of an error.
 */
#include "fuzz.h"

#include "etcd_client_internal.h"
#include "grpc_frame.h"

typedef ilk_status (*reader)(ilk__span message, ilk__etcd_parts *parts,
                             ilk__etcd_answer *out);

static const reader readers[] = {
    ilk__etcd_read_txn,          ilk__etcd_read_grant,
    ilk__etcd_read_revoke,       ilk__etcd_read_keep_alive,
    ilk__etcd_read_time_to_live, ilk__etcd_read_status};

enum {
    READERS = sizeof readers / sizeof readers[0],
    WATCH = READERS,
    LOGIN,
    REASON,
    KINDS
};

static void check_in(ilk__span part, ilk__span whole)
{
    CHECK(part.len <= whole.len);
    if (part.len)
        CHECK(part.at >= whole.at
              && part.at + part.len <= whole.at + whole.len);
}

static void check_kvs(const ilk__etcd_kv *kvs, size_t count, ilk__span message)
{
    for (size_t i = 0; i < count; i++) {
        check_in(kvs[i].key, message);
        check_in(kvs[i].value, message);
    }
}

static void read_answer(reader read, ilk__span message)
{
    ilk__etcd_parts parts = {.no_memory = 0};
    ilk__etcd_answer answer = {.status = ILK_OK};

    if (read(message, &parts, &answer) == ILK_OK)
        for (size_t i = 0; i < answer.op_count; i++)
            check_kvs(answer.ops[i].kvs, answer.ops[i].kv_count, message);
    ilk__etcd_parts_free(&parts);
}

static void read_watch(ilk__span message)
{
    ilk__etcd_parts parts = {.no_memory = 0};
    ilk__etcd_watch_answer answer;

    if (ilk__etcd_read_watch(message, &parts, &answer) == ILK_OK) {
        check_in(answer.reason, message);
        for (size_t i = 0; i < answer.event_count; i++)
            check_kvs(&answer.events[i].kv, 1, message);
    }
    ilk__etcd_parts_free(&parts);
}

static void read_reason(ilk__span message)
{
    ilk__etcd_failure failure;

    ilk__etcd_fail_by_reason(&failure, message, "127.0.0.1:2379");
    CHECK(failure.status != ILK_OK);
    CHECK(memchr(failure.text, '\0', sizeof failure.text) != NULL);
    for (const char *at = failure.text; *at; at++)
        CHECK((unsigned char)*at >= ' ' && *at != 0x7f);
}

static void read_message(unsigned kind, ilk__span message)
{
    ilk__span token;

    if (kind < READERS)
        read_answer(readers[kind], message);
    else if (kind == WATCH)
        read_watch(message);
    else if (kind == REASON)
        read_reason(message);
    else if (ilk__etcd_read_login(message, &token) == ILK_OK)
        check_in(token, message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    unsigned kind = fuzz_pick(&in, KINDS);
    ilk__buf frames = {.data = NULL};
    ilk__span message;

    /* The first choice is the kind; the rest are frames. */
    if (in.left)
        CHECK(ilk__buf_add(&frames, in.at, in.left) == ILK_OK);
    while (ilk__grpc_frame_first(&frames, &message, NULL) == ILK_OK) {
        check_in(message,
                 (ilk__span){ilk__buf_data(&frames), ilk__buf_len(&frames)});
        read_message(kind, message);
        ilk__buf_drop(&frames, ILK__GRPC_HEAD + message.len);
    }
    ilk__buf_free(&frames);
    return 0;
}
