/* SPDX-License-Identifier: MIT */
/* ct_kv.c -- replicated values on one server. */
#include "fork_case.h"
#include "proxy_case.h"
#include "redis/script.h"
#include "started.h"
#include "state_case.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define KEY(text) (text), strlen(text)

static ilk_client *behind; /* behind the proxy */

static int setup(void)
{
    if (state_setup() != 0 || proxy_before_server(&between) != 0)
        return -1;
    behind = open_client_at(between.url);
    return 0;
}

static int teardown(void)
{
    ilk_client_free(behind);
    proxy_close(&between);
    return state_teardown();
}

AROUND_ALL(setup, teardown);

static ilk_kv *open_kv(ilk_client *of, const char *name)
{
    ilk_kv *kv = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_kv_open(&kv, of, KEY(name), &err));
    return kv;
}

static int64_t put(ilk_kv *kv, const char *key, const char *value)
{
    ilk_error err = {0};
    int64_t version = 0;

    assert_status(ILK_OK,
                  ilk_kv_put(kv, KEY(key), KEY(value), 0, &version, &err));
    assert_true(version > 0);
    return version;
}

static ilk_kv_entry *read_entry(ilk_kv *kv, const char *key)
{
    ilk_kv_entry *entry = (ilk_kv_entry *)kv;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_kv_get(&entry, kv, KEY(key), &err));
    return entry;
}

static void assert_there(ilk_kv *kv, const char *key, const char *value,
                         int64_t version)
{
    ilk_kv_entry *entry = read_entry(kv, key);
    size_t len = 0;

    assert_non_null(entry);
    assert_string_equal(value, ilk_kv_entry_value(entry, &len));
    assert_int_equal(strlen(value), len);
    assert_int_equal(version, ilk_kv_entry_version(entry));
    ilk_kv_entry_free(entry);
}

/* ---- values --------------------------------------------------------------- */

TEST(a_value_is_read_by_all_until_it_is_deleted)
{
    ilk_kv *a = open_kv(client, "values"), *b = open_kv(other, "values");
    ilk_error err = {0};
    int64_t first, second, gone = 0;
    size_t len;

    assert_memory_equal("values", ilk_kv_name(a, &len), 6);
    assert_int_equal(6, len);
    assert_null(read_entry(a, "k"));
    first = put(a, "k", "one");
    assert_there(b, "k", "one", first);
    second = put(b, "k", "");
    assert_true(second > first);
    assert_there(a, "k", "", second);
    assert_null(read_entry(a, "other"));

    assert_status(ILK_OK, ilk_kv_delete(a, KEY("k"), 0, &gone, &err));

    assert_true(gone > second);
    assert_null(read_entry(b, "k"));
    assert_status(ILK_OK, ilk_kv_delete(a, KEY("never"), 0, NULL, &err));
    ilk_kv_free(a);
    ilk_kv_free(b);
}

TEST(keys_and_values_have_any_bytes)
{
    static const char key[] = "k\0\r\n}{/\xff", value[] = "v\0\r\n\xff";
    ilk_kv *kv = open_kv(client, "bytes");
    ilk_kv_entry *entry = NULL;
    ilk_error err = {0};
    size_t len = 0;

    assert_status(ILK_OK, ilk_kv_put(kv, key, sizeof key - 1, value,
                                     sizeof value - 1, 0, NULL, &err));
    assert_status(ILK_OK, ilk_kv_put(kv, key, 1, "x", 1, 0, NULL, &err));
    assert_status(ILK_OK, ilk_kv_get(&entry, kv, key, sizeof key - 1, &err));
    assert_memory_equal(value, ilk_kv_entry_value(entry, &len), sizeof value);
    assert_int_equal(sizeof value - 1, len);
    ilk_kv_entry_free(entry);
    ilk_kv_free(kv);
}

/* A name that has a tag of its own, or can have none, does not show in the server's
 * key where it ends. */
TEST(no_two_names_share_a_record)
{
    static const char *const pairs[][2] = {
        {"{t}a", "b/c"},   {"{t}a/b", "c"},   {"x}y", "b/c"}, {"x}y/b", "c"},
        {"{t}a", "b/c/1"}, {"{t}a/b/c", "1"}, {"t", "}/b"},   {"t}/b", "}/b"},
    };
    enum { PAIRS = sizeof pairs / sizeof *pairs };
    ilk_kv *kvs[PAIRS];
    int64_t versions[PAIRS];
    const char *name;
    size_t len = 0;

    for (size_t i = 0; i < PAIRS; i++) {
        kvs[i] = open_kv(client, pairs[i][0]);
        name = ilk_kv_name(kvs[i], &len);
        assert_int_equal(strlen(pairs[i][0]), len);
        assert_memory_equal(pairs[i][0], name, len);
        assert_null(read_entry(kvs[i], pairs[i][1]));
        versions[i] = put(kvs[i], pairs[i][1], pairs[i][0]);
    }
    for (size_t i = 0; i < PAIRS; i++) {
        assert_there(kvs[i], pairs[i][1], pairs[i][0], versions[i]);
        ilk_kv_free(kvs[i]);
    }
    assert_int_equal(1, fixture_int(&fx, "EXISTS ilk:kv={t}a/b/c/3"));
    assert_int_equal(1, fixture_int(&fx, "EXISTS ilk:kv~x}y/b/c/3"));
    assert_int_equal(1, fixture_int(&fx, "EXISTS ilk:kv:{t}/}/b"));
}

enum { WRITERS = 4, WRITES = 50 };

typedef struct writer {
    pthread_t thread;
    int number;
    int64_t greatest;
    int failed;
} writer;

static void *write_often(void *arg)
{
    writer *self = arg;
    ilk_kv *kv = NULL;
    ilk_status st =
        ilk_kv_open(&kv, self->number % 2 ? client : other, "race", 4, NULL);

    for (int i = 0; i < WRITES && st == ILK_OK; i++) {
        char text[24];
        int64_t version = 0;

        snprintf(text, sizeof text, "%d.%d", self->number, i);
        st = ilk_kv_put(kv, "k", 1, text, strlen(text), i % 2 ? ILK_KV_FAST : 0,
                        &version, NULL);
        if (version <= self->greatest)
            self->failed = 1;
        self->greatest = version;
    }
    self->failed |= st != ILK_OK;
    ilk_kv_free(kv);
    return NULL;
}

TEST(of_many_at_once_the_greatest_version_stays)
{
    ilk_kv *kv = open_kv(client, "race");
    writer writers[WRITERS];
    const writer *last = writers;
    ilk_kv_entry *entry;
    char text[24];

    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){.number = i};
        assert_int_equal(0, pthread_create(&writers[i].thread, NULL,
                                           write_often, &writers[i]));
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        assert_int_equal(0, writers[i].failed);
        if (writers[i].greatest > last->greatest)
            last = &writers[i];
    }
    entry = read_entry(kv, "k");
    snprintf(text, sizeof text, "%d.%d", last->number, WRITES - 1);
    assert_string_equal(text, ilk_kv_entry_value(entry, NULL));
    assert_int_equal(last->greatest, ilk_kv_entry_version(entry));
    ilk_kv_entry_free(entry);
    ilk_kv_free(kv);
}

/* ---- what is refused ------------------------------------------------------ */

TEST(limits_are_those_of_the_header)
{
    static char value[ILK_KV_VALUE_MAX + 1], key[ILK_KV_KEY_MAX + 1];
    ilk_kv *kv = open_kv(client, "limits");
    ilk_kv_entry *entry = NULL;
    ilk_error err = {0};
    int64_t version = 9;
    size_t len = 0;

    memset(key, 'k', sizeof key);
    assert_status(ILK_OK, ilk_kv_put(kv, key, ILK_KV_KEY_MAX, value,
                                     ILK_KV_VALUE_MAX, 0, NULL, &err));
    assert_status(ILK_OK, ilk_kv_get(&entry, kv, key, ILK_KV_KEY_MAX, &err));
    ilk_kv_entry_value(entry, &len);
    assert_int_equal(ILK_KV_VALUE_MAX, len);
    ilk_kv_entry_free(entry);
    assert_status(ILK_EINVAL,
                  ilk_kv_put(kv, key, sizeof key, "", 0, 0, &version, &err));
    assert_string_equal("a key must have 1 to 512 bytes, got 513", err.msg);
    assert_int_equal(0, version);
    assert_status(ILK_EINVAL,
                  ilk_kv_put(kv, KEY("k"), value, sizeof value, 0, NULL, &err));
    assert_string_equal("value must have at most 65536 bytes, got 65537",
                        err.msg);
    ilk_kv_free(kv);
}

TEST(bad_arguments_are_refused)
{
    ilk_kv *kv = NULL;
    ilk_kv_entry *entry = NULL;
    ilk_error err = {0};
    size_t len = 1;

    assert_status(ILK_EINVAL, ilk_kv_open(NULL, client, "s", 1, &err));
    assert_status(ILK_EINVAL, ilk_kv_open(&kv, NULL, "s", 1, &err));
    assert_status(ILK_EINVAL, ilk_kv_open(&kv, client, "", 0, &err));
    assert_status(ILK_EINVAL, ilk_kv_open(&kv, client, "ilk:x", 5, &err));
    assert_null(kv);
    kv = open_kv(client, "bad");
    assert_status(ILK_EINVAL, ilk_kv_get(NULL, kv, KEY("k"), &err));
    assert_status(ILK_EINVAL, ilk_kv_get(&entry, NULL, KEY("k"), &err));
    assert_string_equal("kv must not be NULL", err.msg);
    assert_status(ILK_EINVAL, ilk_kv_get(&entry, kv, "", 0, &err));
    assert_status(ILK_EINVAL, ilk_kv_get(&entry, kv, NULL, 1, &err));
    assert_null(entry);
    assert_status(ILK_EINVAL, ilk_kv_put(NULL, KEY("k"), "", 0, 0, NULL, &err));
    assert_status(ILK_EINVAL, ilk_kv_put(kv, KEY("k"), NULL, 1, 0, NULL, &err));
    assert_string_equal("value must not be NULL", err.msg);
    assert_status(ILK_EINVAL, ilk_kv_put(kv, KEY("k"), "", 0, 2, NULL, &err));
    assert_string_equal("flags must be 0 or ILK_KV_FAST", err.msg);
    assert_status(ILK_EINVAL, ilk_kv_delete(kv, KEY("k"), 3, NULL, &err));
    assert_status(ILK_EINVAL, ilk_kv_delete(NULL, KEY("k"), 0, NULL, &err));
    assert_null(read_entry(kv, "k"));
    assert_null(ilk_kv_entry_value(NULL, &len));
    assert_int_equal(0, len);
    assert_int_equal(0, ilk_kv_entry_version(NULL));
    assert_null(ilk_kv_name(NULL, &len));
    ilk_kv_entry_free(NULL);
    ilk_kv_free(NULL);
    ilk_kv_free(kv);
}

TEST(a_key_of_another_type_is_an_error)
{
    ilk_kv *kv = open_kv(client, "type");
    ilk_kv_entry *entry = NULL;
    ilk_error err = {0};

    fixture_command(&fx, "SET ilk:kv:{type}/k x");
    assert_status(ILK_ETYPE, ilk_kv_get(&entry, kv, KEY("k"), &err));
    assert_null(entry);
    assert_status(ILK_ETYPE, ilk_kv_put(kv, KEY("k"), "", 0, 0, NULL, &err));
    assert_status(ILK_ETYPE, ilk_kv_delete(kv, KEY("k"), 0, NULL, &err));
    ilk_kv_free(kv);
}

TEST(no_version_is_used_twice_when_none_can_rise)
{
    ilk_kv *kv = open_kv(client, "end");
    ilk_error err = {0};

    fixture_command(&fx, "HSET ilk:kv:{end}/k version 9007199254740991");

    assert_status(ILK_ESERVER, ilk_kv_put(kv, KEY("k"), "", 0, 0, NULL, &err));
    assert_non_null(strstr(err.msg, "ILKFENCE no version can rise"));
    ilk_kv_free(kv);
}

/* ---- replies that are lost, or make no sense ------------------------------ */

/* A version beyond the clock: each further change adds one. */
#define FAR_VERSION INT64_C(8000000000000000)

TEST(a_put_whose_reply_was_lost_happens_once)
{
    ilk_kv *kv = open_kv(behind, "once");
    ilk_error err = {0};
    int64_t version = 0;

    put(kv, "k", "warm");
    fixture_command(&fx, "HSET ilk:kv:{once}/k version %lld",
                    (long long)FAR_VERSION);
    proxy_cut(&between, ilk__scripts[ILK__SCRIPT_KV_PUT].sha1, 3);
    assert_status(ILK_OK,
                  ilk_kv_put(kv, KEY("k"), KEY("x"), 0, &version, &err));

    assert_int_equal(1, proxy_struck(&between));
    assert_int_equal(FAR_VERSION + 1, version);
    assert_there(kv, "k", "x", version);
    ilk_kv_free(kv);
}

TEST(a_delete_whose_reply_was_lost_happens_once)
{
    ilk_kv *kv = open_kv(behind, "gone");
    ilk_error err = {0};
    int64_t version = 0;

    put(kv, "k", "warm");
    fixture_command(&fx, "HSET ilk:kv:{gone}/k version %lld",
                    (long long)FAR_VERSION);
    proxy_cut(&between, ilk__scripts[ILK__SCRIPT_KV_PUT].sha1, 3);
    assert_status(ILK_OK, ilk_kv_delete(kv, KEY("k"), 0, &version, &err));

    assert_int_equal(1, proxy_struck(&between));
    assert_int_equal(FAR_VERSION + 1, version);
    assert_int_equal(version, fixture_int(&fx, "HGET ilk:kv:{gone}/k version"));
    assert_null(read_entry(kv, "k"));
    ilk_kv_free(kv);
}

/* So many other requests came that the server may have forgotten the first copy. */
TEST(a_retry_that_may_be_forgotten_has_an_unknown_outcome)
{
    ilk_kv *kv = open_kv(behind, "forgot");
    const char *sha1 = ilk__scripts[ILK__SCRIPT_KV_PUT].sha1;
    ilk_error err = {0};
    int64_t version = 9;

    put(kv, "k", "warm");
    fixture_call(&fx, "EVAL",
                 "local now = redis.call('TIME')[1] * 1e6 "
                 "for i = 1, 10000 do redis.call('ZADD', KEYS[1], "
                 "string.format('%.0f', now + i), 'o' .. i) end return 1",
                 "1", "ilk:kv:once:{forgot}", (char *)NULL);
    put(kv, "k", "without a retry nothing is in doubt");

    proxy_arm(&between, PROXY_LOSE, sha1);
    assert_status(ILK_EUNKNOWN,
                  ilk_kv_put(kv, KEY("k"), "x", 1, 0, &version, &err));
    assert_non_null(strstr(err.msg, "perhaps for the second time"));
    assert_int_equal(0, version);
    proxy_arm(&between, PROXY_LOSE, sha1);
    assert_status(ILK_EUNKNOWN, ilk_kv_delete(kv, KEY("k"), 0, NULL, &err));

    fixture_command(&fx, "DEL ilk:kv:once:{forgot}");
    proxy_arm(&between, PROXY_LOSE, sha1);
    assert_status(ILK_OK, ilk_kv_put(kv, KEY("k"), "y", 1, 0, NULL, &err));
    ilk_kv_free(kv);
}

/* A single server would have said "one server, all done". */
static ilk_status move_with_reply(const char *reply, ilk_kv_progress *at,
                                  ilk_error *err)
{
    proxy_replace(&between, ilk__scripts[ILK__SCRIPT_KV_MOVE].sha1, reply,
                  strlen(reply));
    return ilk_kv_move(behind, at, err);
}

TEST(a_hostile_reply_is_refused)
{
    static const char *const gets[] = {
        "*4\r\n:15\r\n:0\r\n:1\r\n$1\r\nx\r\n",
        "*4\r\n:15\r\n:-1\r\n:1\r\n$1\r\nx\r\n",
        "*3\r\n:15\r\n:7\r\n:1\r\n",
    };
    static const char *const puts[] = {
        "*3\r\n:10\r\n:0\r\n:0\r\n",
        "*3\r\n:10\r\n:9007199254740992\r\n:0\r\n",
        "*2\r\n:10\r\n:7\r\n",
    };
    static const char *const moves[] = {
        "*8\r\n:15\r\n:3\r\n:0\r\n$0\r\n\r\n$0\r\n\r\n:0\r\n:0\r\n:0\r\n",
        "*8\r\n:15\r\n:3\r\n:4\r\n$0\r\n\r\n$0\r\n\r\n:0\r\n:0\r\n:0\r\n",
        "*8\r\n:15\r\n:2147483648\r\n:2\r\n$0\r\n\r\n$0\r\n\r\n:0\r\n:0\r\n"
        ":0\r\n",
        "*8\r\n:15\r\n:3\r\n:2\r\n$24\r\n012345678901234567890123\r\n"
        "$0\r\n\r\n:0\r\n:0\r\n:0\r\n",
        "*8\r\n:15\r\n:3\r\n:2\r\n$0\r\n\r\n"
        "$24\r\n012345678901234567890123\r\n:0\r\n:0\r\n:0\r\n",
    };
    ilk_kv *kv = open_kv(behind, "hostile");
    ilk_kv_progress at = {.size = sizeof at};
    ilk_kv_entry *entry = NULL;
    ilk_error err = {0};

    put(kv, "k", "x");
    assert_there(kv, "k", "x",
                 fixture_int(&fx, "HGET ilk:kv:{hostile}/k "
                                  "version"));
    assert_status(ILK_OK, ilk_kv_move(behind, &at, &err));
    for (size_t i = 0; i < sizeof gets / sizeof *gets; i++) {
        proxy_replace(&between, ilk__scripts[ILK__SCRIPT_KV_GET].sha1, gets[i],
                      strlen(gets[i]));
        assert_status(ILK_EREPLY, ilk_kv_get(&entry, kv, KEY("k"), &err));
        assert_null(entry);
    }
    for (size_t i = 0; i < sizeof puts / sizeof *puts; i++) {
        proxy_replace(&between, ilk__scripts[ILK__SCRIPT_KV_PUT].sha1, puts[i],
                      strlen(puts[i]));
        assert_status(ILK_EREPLY,
                      ilk_kv_put(kv, KEY("k"), "y", 1, 0, NULL, &err));
    }
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        at = (ilk_kv_progress){.size = sizeof at, .server = 1};
        assert_status(ILK_EREPLY, move_with_reply(moves[i], &at, &err));
        assert_int_equal(1, at.server);
    }
    ilk_kv_free(kv);
}

/* ---- move ----------------------------------------------------------------- */

TEST(a_single_server_has_all_values_where_they_belong)
{
    ilk_kv_progress at = {.size = sizeof at}, kept = {.size = sizeof kept};
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_kv_move(client, &at, &err));
    assert_int_equal(1, at.is_done);
    assert_int_equal(1, at.servers);
    assert_int_equal(0, at.looked + at.copied + at.removed);
    assert_status(ILK_EINVAL, ilk_kv_move(client, &at, &err));
    assert_string_equal("progress is done", err.msg);

    kept.looked = 7;
    snprintf(kept.cursor, sizeof kept.cursor, "12");
    assert_status(ILK_OK, ilk_kv_move(other, &kept, &err));
    assert_int_equal(7, kept.looked);
}

TEST(a_step_goes_on_from_the_one_before)
{
    ilk_kv_progress at = {.size = sizeof at};
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_kv_move(behind, &at, &err)); /* warm */
    at = (ilk_kv_progress){.size = sizeof at};
    assert_status(ILK_OK,
                  move_with_reply("*8\r\n:15\r\n:3\r\n:0\r\n$2\r\n17\r\n"
                                  "$4\r\npass\r\n:100\r\n:5\r\n:2\r\n",
                                  &at, &err));
    assert_int_equal(0, at.is_done);
    assert_int_equal(0, at.server);
    assert_int_equal(3, at.servers);
    assert_string_equal("17", at.cursor);
    assert_string_equal("pass", at.pass_id);
    assert_status(ILK_OK, move_with_reply("*8\r\n:15\r\n:3\r\n:3\r\n$0\r\n\r\n"
                                          "$4\r\npass\r\n:10\r\n:1\r\n:0\r\n",
                                          &at, &err));
    assert_int_equal(1, at.is_done);
    assert_int_equal(110, at.looked);
    assert_int_equal(6, at.copied);
    assert_int_equal(2, at.removed);
}

TEST(a_progress_that_makes_no_sense_is_refused)
{
    ilk_kv_progress at = {.size = sizeof at, .server = -1};
    ilk_error err = {0};

    assert_status(ILK_EINVAL, ilk_kv_move(client, NULL, &err));
    assert_status(ILK_EINVAL, ilk_kv_move(NULL, &at, &err));
    assert_status(ILK_EINVAL, ilk_kv_move(client, &at, &err));
    assert_string_equal("progress is none of ilk_kv_move()", err.msg);
    at = (ilk_kv_progress){.size = sizeof at};
    memset(at.cursor, '1', sizeof at.cursor);
    assert_status(ILK_EINVAL, ilk_kv_move(client, &at, &err));
    at = (ilk_kv_progress){.size = sizeof at};
    memset(at.pass_id, '1', sizeof at.pass_id);
    assert_status(ILK_EINVAL, ilk_kv_move(client, &at, &err));
    at = (ilk_kv_progress){.size = 0};
    assert_status(ILK_EINVAL, ilk_kv_move(client, &at, &err));
}

/* ---- processes, started --------------------------------------------------- */

TEST(a_child_uses_the_handle_when_it_has_reopened)
{
    ilk_client *own = open_client();
    ilk_kv *kv = open_kv(own, "fork");
    ilk_error err = {0};
    pid_t pid;

    put(kv, "k", "parent");
    pid = fork_now();
    if (pid == 0) {
        ilk_kv_progress at = {.size = sizeof at};
        ilk_kv_entry *entry = NULL;

        demand(ilk_kv_get(&entry, kv, "k", 1, NULL) == ILK_EFORKED);
        demand(ilk_kv_put(kv, "k", 1, "", 0, 0, NULL, NULL) == ILK_EFORKED);
        demand(ilk_kv_move(own, &at, NULL) == ILK_EFORKED);
        demand(ilk_client_reopen(own, NULL) == ILK_OK);
        demand(ilk_kv_put(kv, "k", 1, "child", 5, 0, NULL, NULL) == ILK_OK);
        ilk_kv_free(kv);
        ilk_client_free(own);
        _exit(0);
    }
    assert_ends_well(pid);
    assert_there(kv, "k", "child",
                 fixture_int(&fx, "HGET ilk:kv:{fork}/k version"));
    assert_status(ILK_OK, ilk_client_close(own, &err));
    assert_status(ILK_ECLOSED, ilk_kv_put(kv, "k", 1, "", 0, 0, NULL, &err));
    ilk_kv_free(kv);
    ilk_client_free(own);
}

TEST(started_requests_have_their_results)
{
    ilk_kv *kv = open_kv(client, "started");
    const ilk_kv_entry *entry;
    ilk_error err = {0};
    int64_t version;
    ilk_op *op;

    assert_status(ILK_OK, ilk_kv_get_start(&op, kv, KEY("k"), &err));
    assert_ended(ILK_OK, client, op);
    assert_null(ilk_op_kv_entry(op));
    ilk_op_free(op);
    assert_status(ILK_OK,
                  ilk_kv_put_start(&op, kv, KEY("k"), KEY("x"), 0, &err));
    assert_ended(ILK_OK, client, op);
    version = ilk_op_number(op);
    assert_null(ilk_op_kv_entry(op));
    ilk_op_free(op);
    assert_status(ILK_OK, ilk_kv_get_start(&op, kv, KEY("k"), &err));
    ilk_kv_free(kv); /* the request goes on */
    assert_ended(ILK_OK, client, op);
    entry = ilk_op_kv_entry(op);
    assert_string_equal("x", ilk_kv_entry_value(entry, NULL));
    assert_int_equal(version, ilk_kv_entry_version(entry));
    ilk_op_free(op);
}

TEST(a_started_step_has_its_progress)
{
    ilk_kv_progress at = {.size = sizeof at, .looked = 7}, found = {0};
    ilk_error err = {0};
    ilk_op *op;

    assert_status(ILK_OK, ilk_kv_move_start(&op, client, &at, &err));
    found.size = sizeof found;
    assert_status(ILK_EINVAL, ilk_op_kv_progress(op, &found, &err));
    assert_ended(ILK_OK, client, op);
    assert_status(ILK_OK, ilk_op_kv_progress(op, &found, &err));
    assert_int_equal(1, found.is_done);
    assert_int_equal(7, found.looked);
    assert_int_equal(0, at.is_done);
    assert_status(ILK_EINVAL, ilk_op_kv_progress(op, NULL, &err));
    assert_status(ILK_EINVAL, ilk_op_kv_progress(NULL, &found, &err));
    ilk_op_free(op);
}
