/* SPDX-License-Identifier: MIT */
/* conf_state.c -- the conformance table's events, barriers, latches, registers,
 * stores and replicated values. */
#include "conf_state.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ilk_error err;

static int is(const conf_word *word, const char *text)
{
    return strcmp(word->text, text) == 0;
}

static int64_t number_of(const char *text)
{
    char *end = NULL;
    int64_t value = strtoll(text, &end, 10);

    if (end == text || *end != '\0')
        fail_msg("\"%s\" is no number", text);
    return value;
}

/* The word behind "->"; the default when there is none. */
static const conf_word *answer(const conf_word *words, int count)
{
    static const conf_word ok = {.len = 6, .text = "ILK_OK"};

    return count > 2 && is(&words[count - 2], "->") ? &words[count - 1] : &ok;
}

static void expect(const conf_word *words, int count, ilk_status st)
{
    if (!is(answer(words, count), ilk_status_name(st)))
        fail_msg("answers %s (%s)", ilk_status_name(st), err.msg);
}

/* A question that is answered by a number. */
static void expect_number(const conf_word *words, int count, ilk_status st,
                          int64_t number)
{
    if (st)
        expect(words, count, st);
    else
        assert_int_equal(number, number_of(answer(words, count)->text));
}

/* ---- making ------------------------------------------------------------- */

static ilk_status open_event(conf_state_handle *h, ilk_client *client,
                             const conf_word *words, int count)
{
    ilk_event_opts opts;

    ilk_event_opts_init(&opts, sizeof opts);
    if (count > 4 && strncmp(words[4].text, "ttl_ms=", 7) == 0)
        opts.ttl_ms = number_of(words[4].text + 7);
    return ilk_event_open(&h->event, client, words[3].text, words[3].len, &opts,
                          &err);
}

static conf_state_handle *find(conf_state *self, const char *word)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->handles[i].word, word) == 0)
            return &self->handles[i];
    return NULL;
}

static ilk_status begin(conf_state *self, ilk_txn **out, const conf_word *words)
{
    const conf_state_handle *of = find(self, words[3].text);

    assert_non_null(of);
    return ilk_txn_begin(
        out, of->store, is(&words[2], "snapshot") ? ILK_TXN_SNAPSHOT : 0, &err);
}

static int64_t second_number(const conf_word *words, int count)
{
    assert_true(count > 4);
    return number_of(words[4].text);
}

static int open_handle(conf_state *self, ilk_client *client,
                       const conf_word *words, int count)
{
    conf_state_handle *h = &self->handles[self->count];
    const conf_word *name = &words[3];
    ilk_status st;

    assert_true(self->count < CONF_STATE_HANDLES);
    if (is(&words[2], "event"))
        st = open_event(h, client, words, count);
    else if (is(&words[2], "barrier"))
        st = ilk_barrier_open(&h->barrier, client, name->text, name->len,
                              second_number(words, count), NULL, &err);
    else if (is(&words[2], "latch"))
        st = ilk_latch_open(&h->latch, client, name->text, name->len,
                            second_number(words, count), NULL, &err);
    else if (is(&words[2], "register"))
        st = ilk_register_open(&h->reg, client, name->text, name->len, &err);
    else if (is(&words[2], "store"))
        st = ilk_store_open(&h->store, client, name->text, name->len, &err);
    else if (is(&words[2], "kv"))
        st = ilk_kv_open(&h->kv, client, name->text, name->len, &err);
    else if (is(&words[2], "begin") || is(&words[2], "snapshot"))
        st = begin(self, &h->txn, words);
    else
        return 0;
    snprintf(h->word, sizeof h->word, "%.63s", words[0].text);
    self->count++;
    expect(words, count, st);
    return 1;
}

/* ---- verbs -------------------------------------------------------------- */

static void look_at_event(conf_state *self, const ilk_event *event,
                          const conf_word *words, int count)
{
    const conf_word *wanted = answer(words, count);
    size_t len;

    if (is(&words[1], "is_set")) {
        assert_int_equal(number_of(wanted->text), ilk_event_is_set(event));
    } else if (is(&words[1], "data")) {
        const char *data = ilk_event_data(event, &len);

        assert_int_equal(wanted->len, len);
        assert_memory_equal(wanted->text, data, len);
    } else {
        assert_true(is(&words[1], "generation") && is(&words[2], ">"));
        assert_true(ilk_event_generation(event)
                    > ilk_event_generation(find(self, words[3].text)->event));
    }
}

static void run_event(conf_state *self, ilk_event *event,
                      const conf_word *words, int count)
{
    const conf_word *verb = &words[1];
    int64_t known = ilk_event_generation(event);

    if (is(verb, "set"))
        expect(words, count,
               ilk_event_set(event, words[2].text, words[2].len, &err));
    else if (is(verb, "clear"))
        expect(words, count, ilk_event_clear(event, &err));
    else if (is(verb, "read"))
        expect(words, count, ilk_event_read(event, &err));
    else if (is(verb, "wait"))
        expect(words, count,
               ilk_event_wait(event, number_of(words[2].text), &err));
    else if (is(verb, "change"))
        expect(words, count,
               ilk_event_wait_change(event, known, number_of(words[2].text),
                                     &err));
    else
        look_at_event(self, event, words, count);
}

static void run_barrier(ilk_barrier *barrier, const conf_word *words, int count)
{
    const conf_word *verb = &words[1];
    int64_t number = 0;

    if (is(verb, "wait")) {
        expect(
            words, count,
            ilk_barrier_wait(barrier, number_of(words[2].text), &number, &err));
    } else if (is(verb, "reset")) {
        expect(words, count, ilk_barrier_reset(barrier, &err));
    } else {
        ilk_status st = ilk_barrier_waiting(barrier, &number, &err);

        assert_true(is(verb, "waiting"));
        expect_number(words, count, st, number);
    }
}

static void run_latch(ilk_latch *latch, const conf_word *words, int count)
{
    const conf_word *verb = &words[1];
    int64_t left = 0;

    if (is(verb, "count_down")) {
        expect(
            words, count,
            ilk_latch_count_down(latch, number_of(words[2].text), NULL, &err));
    } else if (is(verb, "wait")) {
        expect(words, count,
               ilk_latch_wait(latch, number_of(words[2].text), &err));
    } else if (is(verb, "reset")) {
        expect(words, count, ilk_latch_reset(latch, &err));
    } else {
        ilk_status st = ilk_latch_count(latch, &left, &err);

        assert_true(is(verb, "count"));
        expect_number(words, count, st, left);
    }
}

/* "(nil)" stands for no bytes. */
static void expect_bytes(const conf_word *words, int count, const char *bytes,
                         size_t len)
{
    const conf_word *wanted = answer(words, count);

    if (!bytes) {
        assert_string_equal(wanted->text, "(nil)");
        return;
    }
    assert_int_equal(wanted->len, len);
    assert_memory_equal(wanted->text, bytes, len);
}

static void look_at_register(conf_state *self, const ilk_register *reg,
                             const conf_word *words, int count)
{
    size_t len;

    if (is(&words[1], "value")) {
        const char *value = ilk_register_value(reg, &len);

        expect_bytes(words, count, value, len);
    } else {
        int64_t version = ilk_register_version(reg),
                known = ilk_register_version(find(self, words[3].text)->reg);

        assert_true(is(&words[1], "version"));
        if (is(&words[2], ">"))
            assert_true(version > known);
        else
            assert_int_equal(version, known);
    }
}

static void run_register(conf_state *self, ilk_register *reg,
                         const conf_word *words, int count)
{
    const conf_word *verb = &words[1], *value = &words[2];
    int64_t known = ilk_register_version(reg);
    int is_seen = count > 2 && is(value, "seen");

    if (is(verb, "get"))
        expect(words, count, ilk_register_get(reg, &err));
    else if (is(verb, "set"))
        expect(words, count,
               ilk_register_set(reg, value->text, value->len, &err));
    else if (is(verb, "cas"))
        expect(words, count,
               ilk_register_cas(reg, known, value->text, value->len, &err));
    else if (is(verb, "delete"))
        expect(
            words, count,
            ilk_register_delete(reg, is_seen ? known : ILK_REGISTER_ANY, &err));
    else if (is(verb, "wait"))
        expect(words, count,
               ilk_register_wait(reg, known, number_of(value->text), &err));
    else
        look_at_register(self, reg, words, count);
}

static void run_store(conf_state *self, ilk_store *store,
                      const conf_word *words, int count)
{
    static const char *const names[] = {"undecided", "committed", "aborted"};
    int32_t outcome = 0;
    ilk_status st;

    assert_true(is(&words[1], "outcome"));
    st = ilk_store_outcome(store, ilk_txn_id(find(self, words[2].text)->txn),
                           &outcome, &err);
    if (st)
        expect(words, count, st);
    else
        assert_string_equal(answer(words, count)->text, names[outcome]);
}

static void run_transaction(ilk_txn *txn, const conf_word *words, int count)
{
    const conf_word *verb = &words[1], *key = &words[2], *value = &words[3];
    size_t len;

    if (is(verb, "get")) {
        expect(words, count, ilk_txn_get(txn, key->text, key->len, &err));
    } else if (is(verb, "put")) {
        expect(words, count,
               ilk_txn_put(txn, key->text, key->len, value->text, value->len,
                           &err));
    } else if (is(verb, "delete")) {
        expect(words, count, ilk_txn_delete(txn, key->text, key->len, &err));
    } else if (is(verb, "commit")) {
        expect(words, count, ilk_txn_commit(txn, &err));
    } else {
        const char *found = ilk_txn_value(txn, &len);

        assert_true(is(verb, "value"));
        expect_bytes(words, count, found, len);
    }
}

static void look_at_kv(conf_state *self, const conf_state_handle *h,
                       const conf_word *words, int count)
{
    size_t len;
    const char *value = ilk_kv_entry_value(h->entry, &len);

    if (is(&words[1], "value")) {
        expect_bytes(words, count, value, len);
        return;
    }
    assert_true(is(&words[1], "version"));
    if (is(&words[2], ">"))
        assert_true(h->version > find(self, words[3].text)->version);
    else
        assert_int_equal(h->version, find(self, words[3].text)->version);
}

static ilk_status read_kv(conf_state_handle *h, const conf_word *key)
{
    ilk_kv_entry_free(h->entry);
    h->entry = NULL;
    return ilk_kv_get(&h->entry, h->kv, key->text, key->len, &err);
}

static void run_kv(conf_state *self, conf_state_handle *h,
                   const conf_word *words, int count)
{
    const conf_word *verb = &words[1], *key = &words[2], *value = &words[3];

    if (is(verb, "get")) {
        expect(words, count, read_kv(h, key));
        if (h->entry)
            h->version = ilk_kv_entry_version(h->entry);
    } else if (is(verb, "put") || is(verb, "fast")) {
        expect(words, count,
               ilk_kv_put(h->kv, key->text, key->len, value->text, value->len,
                          is(verb, "fast") ? ILK_KV_FAST : 0, &h->version,
                          &err));
    } else if (is(verb, "delete")) {
        expect(words, count,
               ilk_kv_delete(h->kv, key->text, key->len, 0, &h->version, &err));
    } else {
        look_at_kv(self, h, words, count);
    }
}

int conf_state_line(conf_state *self, ilk_client *client,
                    const conf_word *words, int count)
{
    conf_state_handle *h;

    if (count > 3 && is(&words[1], "="))
        return open_handle(self, client, words, count);
    h = find(self, words[0].text);
    if (!h || count < 2)
        return 0;
    if (h->event)
        run_event(self, h->event, words, count);
    else if (h->barrier)
        run_barrier(h->barrier, words, count);
    else if (h->latch)
        run_latch(h->latch, words, count);
    else if (h->store)
        run_store(self, h->store, words, count);
    else if (h->txn)
        run_transaction(h->txn, words, count);
    else if (h->kv)
        run_kv(self, h, words, count);
    else
        run_register(self, h->reg, words, count);
    return 1;
}

void conf_state_free(conf_state *self)
{
    for (size_t i = 0; i < self->count; i++) {
        ilk_event_free(self->handles[i].event);
        ilk_barrier_free(self->handles[i].barrier);
        ilk_latch_free(self->handles[i].latch);
        ilk_register_free(self->handles[i].reg);
        ilk_txn_free(self->handles[i].txn);
        ilk_store_free(self->handles[i].store);
        ilk_kv_entry_free(self->handles[i].entry);
        ilk_kv_free(self->handles[i].kv);
    }
    memset(self, 0, sizeof *self);
}
