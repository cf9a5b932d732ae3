/* SPDX-License-Identifier: MIT */
/*
 * ct_conformance.c -- the C ABI runs the table in tests/conformance; each case
 * is a test of its own.
 *
 * The directory is $ILK_CONFORMANCE_DIR, or the one beside this source.
 */
#include "conformance.h"
#include "fixture.h"

#include <interlock.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { HANDLES = 16 };

/* A word of the case that stands for a handle: one of the two. */
typedef struct handle {
    char word[64];
    ilk_lock *lock;
    ilk_lock_many *many;
} handle;

/* The line that runs. */
typedef struct run {
    conf_names names;
    handle handles[HANDLES];
    size_t handle_count;
    conf_word words[CONFORMANCE_WORDS];
    int count;
    ilk_error err;
} run;

static fixture fx;
static ilk_client *client;
static conf_table table;

#define CALL(h, verb, ...)                                                     \
    ((h)->many ? ilk_lock_many_##verb((h)->many __VA_ARGS__)                   \
               : ilk_lock_##verb((h)->lock __VA_ARGS__))

static int is(const run *r, int index, const char *text)
{
    return index < r->count && strcmp(r->words[index].text, text) == 0;
}

static const char *word(const run *r, int index)
{
    return index < r->count ? r->words[index].text : "";
}

static int64_t number(const run *r, int index)
{
    char *end = NULL;
    int64_t value = strtoll(word(r, index), &end, 10);

    if (end == word(r, index) || *end != '\0')
        fail_msg("\"%s\" is no number", word(r, index));
    return value;
}

static handle *find(run *r, const char *name)
{
    for (size_t i = 0; i < r->handle_count; i++)
        if (strcmp(r->handles[i].word, name) == 0)
            return &r->handles[i];
    fail_msg("no handle is called \"%s\"", name);
    return NULL;
}

/* The words from index on say "-> STATUS", or nothing, which is ILK_OK. */
static void expect(const run *r, int index, ilk_status st)
{
    const char *wanted = "ILK_OK";

    if (index < r->count) {
        assert_true(is(r, index, "->"));
        wanted = word(r, index + 1);
    }
    if (strcmp(ilk_status_name(st), wanted) != 0)
        fail_msg("answers %s (%s)", ilk_status_name(st), r->err.msg);
}

static void set_flag(ilk_lock_opts *opts, uint32_t flag, int on)
{
    opts->flags = on ? opts->flags | flag : opts->flags & ~flag;
}

/* key=value; answers 0 for a word that is none. */
static int read_option(ilk_lock_opts *opts, const char *text)
{
    const char *value = strchr(text, '=');
    size_t len = value == NULL ? 0 : (size_t)(value - text);
    int64_t n = value == NULL ? 0 : strtoll(value + 1, NULL, 10);

#define KEY(name) (len == sizeof name - 1 && memcmp(text, name, len) == 0)
    if (value == NULL)
        return 0;
    if (KEY("ttl_ms"))
        opts->ttl_ms = n;
    else if (KEY("max_hold_ms"))
        opts->max_hold_ms = n;
    else if (KEY("renew"))
        set_flag(opts, ILK_LOCK_NO_RENEW, n == 0);
    else if (KEY("barge"))
        set_flag(opts, ILK_LOCK_BARGE, n != 0);
    else if (KEY("reentrant"))
        set_flag(opts, ILK_LOCK_REENTRANT, n != 0);
    else if (KEY("layout"))
        opts->layout = strcmp(value, "=redisson") == 0 ? ILK_LAYOUT_REDISSON
                                                       : ILK_LAYOUT_PLAIN;
    else
        return 0;
#undef KEY
    return 1;
}

static ilk_status open_many(run *r, handle *h, int first, int last,
                            const ilk_lock_opts *opts)
{
    const void *names[CONFORMANCE_WORDS];
    size_t lens[CONFORMANCE_WORDS];

    for (int i = first; i < last; i++) {
        names[i - first] = r->words[i].text;
        lens[i - first] = r->words[i].len;
    }
    return ilk_lock_many_open(&h->many, client, names, lens,
                              (size_t)(last - first), opts, &r->err);
}

/* <h> = lock|read|write|many <name>... [key=value...] [-> STATUS] */
static void open_handle(run *r)
{
    const conf_word *name = &r->words[3];
    handle *h = &r->handles[r->handle_count++];
    ilk_status st = ILK_EINVAL;
    ilk_lock_opts opts;
    int options = 3;
    int arrow;

    assert_true(r->handle_count <= HANDLES && r->count > 3);
    ilk_lock_opts_init(&opts, sizeof opts);
    snprintf(h->word, sizeof h->word, "%.63s", word(r, 0));
    for (arrow = 3; arrow < r->count && !is(r, arrow, "->"); arrow++)
        if (!read_option(&opts, word(r, arrow)))
            options = arrow + 1;
    if (is(r, 2, "lock"))
        st = ilk_lock_open(&h->lock, client, name->text, name->len, &opts,
                           &r->err);
    else if (is(r, 2, "read"))
        st = ilk_rwlock_read_open(&h->lock, client, name->text, name->len,
                                  &opts, &r->err);
    else if (is(r, 2, "write"))
        st = ilk_rwlock_write_open(&h->lock, client, name->text, name->len,
                                   &opts, &r->err);
    else if (is(r, 2, "many"))
        st = open_many(r, h, 3, options, &opts);
    else
        fail_msg("cannot make a \"%s\"", word(r, 2));
    expect(r, arrow, st);
}

/* adopt @<other handle>, or a token as it is */
static ilk_status adopt(run *r, handle *h)
{
    const char *token = word(r, 2);

    assert_non_null(h->lock);
    if (token[0] == '@')
        token = CALL(find(r, token + 1), token, );
    return ilk_lock_adopt(h->lock, token, strlen(token), &r->err);
}

static void run_query(run *r, handle *h)
{
    if (is(r, 1, "held")) {
        assert_int_equal(CALL(h, held, ), number(r, 3));
    } else if (is(r, 1, "fence")) {
        assert_true(is(r, 2, ">"));
        assert_true(CALL(h, fence, ) > CALL(find(r, word(r, 3)), fence, ));
    } else if (is(r, 1, "remaining")) {
        int64_t left = CALL(h, remaining_ms, );

        assert_true(is(r, 2, "between"));
        assert_in_range(left, number(r, 3), number(r, 4));
    } else {
        fail_msg("a handle cannot \"%s\"", word(r, 1));
    }
}

static void run_verb(run *r, handle *h)
{
    if (is(r, 1, "acquire")) {
        expect(r, 3, CALL(h, acquire, , number(r, 2), &r->err));
    } else if (is(r, 1, "release")) {
        expect(r, 2, CALL(h, release, , &r->err));
    } else if (is(r, 1, "extend")) {
        expect(r, 3, CALL(h, extend, , number(r, 2), &r->err));
    } else if (is(r, 1, "check")) {
        expect(r, 2, CALL(h, check, , &r->err));
    } else if (is(r, 1, "detach")) {
        assert_non_null(h->lock);
        expect(r, 2, ilk_lock_detach(h->lock, &r->err));
    } else if (is(r, 1, "adopt")) {
        expect(r, 3, adopt(r, h));
    } else {
        run_query(r, h);
    }
}

/* inspect <name> -> <state> [waiters=n] */
static void run_inspect(run *r)
{
    static const char *const states[] = {
        [ILK_INFO_FREE] = "free",         [ILK_INFO_HELD] = "held",
        [ILK_INFO_FOREIGN] = "foreign",   [ILK_INFO_READERS] = "readers",
        [ILK_INFO_REDISSON] = "redisson",
    };
    ilk_info *info = NULL;

    assert_true(is(r, 2, "->"));
    expect(
        r, r->count,
        ilk_inspect(&info, client, r->words[1].text, r->words[1].len, &r->err));
    assert_string_equal(states[ilk_info_get_state(info)], word(r, 3));
    if (r->count > 4) {
        assert_int_equal(strncmp(word(r, 4), "waiters=", 8), 0);
        assert_int_equal(ilk_info_waiters(info), atoll(word(r, 4) + 8));
    }
    ilk_info_free(info);
}

/* redis <COMMAND>... [-> <answer as text>] */
static void run_redis(run *r)
{
    const char *argv[CONFORMANCE_WORDS];
    size_t lens[CONFORMANCE_WORDS];
    const char *answer;
    int argc = 0;

    while (argc + 1 < r->count && !is(r, argc + 1, "->")) {
        argv[argc] = r->words[argc + 1].text;
        lens[argc] = r->words[argc + 1].len;
        argc++;
    }
    answer = fixture_argv(&fx, argc, argv, lens);
    if (is(r, argc + 1, "->"))
        assert_string_equal(answer, word(r, argc + 2));
    else if (strncmp(answer, "(error)", 7) == 0)
        fail_msg("%s", answer);
}

static void run_line(run *r)
{
    if (is(r, 1, "=") && is(r, 2, "name")) {
        conf_define(&r->names, word(r, 0), &r->words[3]);
    } else if (is(r, 1, "=")) {
        open_handle(r);
    } else if (is(r, 0, "inspect")) {
        run_inspect(r);
    } else if (is(r, 0, "break")) {
        expect(r, 2,
               ilk_lock_break(client, r->words[1].text, r->words[1].len, NULL,
                              0, &r->err));
    } else if (is(r, 0, "redis")) {
        run_redis(r);
    } else if (is(r, 0, "sleep")) {
        fixture_sleep_ms((int)number(r, 1));
    } else {
        run_verb(r, find(r, word(r, 0)));
    }
}

static void run_case(void **state)
{
    const conf_case *one = *state;
    run *r = calloc(1, sizeof *r);

    assert_non_null(r);
    assert_true(one->count > 0);
    snprintf(r->names.unique, sizeof r->names.unique, "c%d.%zu.", (int)getpid(),
             (size_t)(one - table.cases));
    for (size_t i = 0; i < one->count; i++) {
        /* cmocka tells the last line that was printed before a failure */
        print_message("    %d: %s\n", one->lines[i].number, one->lines[i].text);
        r->count = conf_split(r->words, &r->names, one->lines[i].text);
        if (r->count < 1)
            fail_msg("cannot be read");
        run_line(r);
    }
    for (size_t i = 0; i < r->handle_count; i++) {
        ilk_lock_free(r->handles[i].lock);
        ilk_lock_many_free(r->handles[i].many);
    }
    free(r);
}

static int setup(void **state)
{
    ilk_error err = {0, ""};

    (void)state;
    if (fixture_start(&fx, NULL) != 0)
        return -1;
    if (ilk_client_open(&client, fx.unix_url, NULL, &err) != ILK_OK) {
        print_error("%s\n", err.msg);
        return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ilk_client_free(client);
    return fixture_stop(&fx);
}

static const char *directory(char *buf, size_t size)
{
    const char *dir = getenv("ILK_CONFORMANCE_DIR");
    const char *slash = strrchr(__FILE__, '/');

    if (dir != NULL)
        return dir;
    snprintf(buf, size, "%.*s/../conformance",
             slash == NULL ? 1 : (int)(slash - __FILE__),
             slash == NULL ? "." : __FILE__);
    return buf;
}

int main(void)
{
    char buf[1024];
    struct CMUnitTest *tests;
    int bad;

    if (conf_read(&table, directory(buf, sizeof buf)) != 0) {
        fprintf(stderr, "no table in %s\n", directory(buf, sizeof buf));
        return 1;
    }
    tests = calloc(table.count, sizeof *tests);
    if (tests == NULL)
        return 1;
    for (size_t i = 0; i < table.count; i++) {
        tests[i].name = table.cases[i].title;
        tests[i].test_func = run_case;
        tests[i].initial_state = &table.cases[i];
    }
    bad = _cmocka_run_group_tests("conformance", tests, table.count, setup,
                                  teardown);
    free(tests);
    conf_free(&table);
    return bad;
}
