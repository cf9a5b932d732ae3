/* SPDX-License-Identifier: MIT */
/*
 * etcd_keys.c -- the keys of contenders.
 *
 *     orders/694d8f3a2b1c                        of clientv3, jetcd, etcdctl
 *     orders/694d8f3a2b1d-x1                     ours
 *     orders/694d8f3a2b1d-e1.5b0c..e2            a candidate of ours
 *     ilk:semaphore:{orders}/694d8f3a2b1d-p3.2
 *     ------ ------------ - - -
 *     name   lease        | | number
 *                      kind |
 *                     permits, of kind p
 *
 * Lease and number are in lower-case hexadecimal digits, without leading zeros; in
 * a token each byte but letters, digits, '-' and '_' is %XX. So the part behind the last
 * slash is never empty and has none itself: no key is one of two names, whatever
 * bytes and slashes these have. `a/` and `a` have `a//694d..` and `a/694d..`.
 *
 * Until it is compacted, etcd visits a deleted key in each range over it. So a number
 * is used again when its entry has left, and no request about its key can still be
 * executed: a name has as many keys as it had entries at one time. When an entry ends in
 * any other way, all later keys get new numbers.
 *
 * Only keys of these two shapes contend. clientv3 however counts all keys that
 * begin with `a/`: there a waiter for `a` also waits for the holders of `a/b`.
 *
 * A foreign key counts for the lock of its name and for the election, because
 * both look alike. Of our own keys x and r are the lock's, e are the election's.
 *
 * The value of an own key is `since=<ms of the epoch> token=<token> who=<text>`, from
 * when it joined. A candidate's value is what it proclaims, for observers of any kind;
 * its `who` is the value of `ilk:client/<lease>`, which ends with the lease.
 */
#include "etcd_store.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEASE_DIGITS = 16, NUMBER_DIGITS = 16, SUFFIX = 96, SINCE = 48 };

static int is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')
           || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

/* `to` has room for three bytes of each, and a NUL. */
static char *encode(char *to, ilk__bytes token)
{
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < token.len; i++) {
        const unsigned char byte = (unsigned char)token.data[i];

        if (is_plain(token.data[i])) {
            *to++ = token.data[i];
            continue;
        }
        *to++ = '%';
        *to++ = digits[byte >> 4];
        *to++ = digits[byte & 15];
    }
    *to = '\0';
    return to;
}

static void write_key(ilk__bytes *out, const ilk__etcd_entry *entry)
{
    const ilk__etcd_name *name = entry->name;
    const ilk__contender *contender = entry->contender;
    char permits[24] = "", *to = out->data + name->prefix_len;

    if (contender->kind == ILK__CONTENDER_PERMITS)
        snprintf(permits, sizeof permits, "%" PRId64 ".", contender->permits);
    memcpy(out->data, name->prefix, name->prefix_len);
    to += snprintf(to, SUFFIX, "%" PRIx64 "-%c%s%" PRIx64,
                   (uint64_t)entry->lease->id, contender->kind, permits,
                   entry->number);
    if (contender->kind == ILK__CONTENDER_CANDIDATE) {
        *to++ = '.';
        to = encode(to, contender->token);
    }
    out->len = (size_t)(to - out->data);
}

ilk_status ilk__etcd_key_make(ilk__bytes *out, ilk__etcd_entry *entry)
{
    ilk__etcd_name *name = entry->name;
    ilk__etcd_store *store = name->store;
    const size_t room =
        name->prefix_len + SUFFIX + 3 * entry->contender->token.len;

    out->data = ilk__malloc(room);
    if (!out->data)
        return ILK_ENOMEM;
    if (name->next_number < store->first_number)
        name->next_number = store->first_number;
    do {
        entry->number = name->next_number++;
        write_key(out, entry);
    } while (ilk__table_find(&store->by_key, out->data, out->len));
    if (entry->number > store->last_number)
        store->last_number = entry->number;
    return ILK_OK;
}

void ilk__etcd_key_free(ilk__etcd_entry *entry)
{
    ilk__etcd_name *name = entry->name;
    ilk__etcd_store *store = name->store;
    const int is_settled = !entry->joins && !entry->is_unknown
                           && !entry->is_leaving && !entry->is_left
                           && !entry->is_moving && !entry->perhaps_in
                           && (entry->has_left || !entry->create_revision);

    if (!entry->key.data)
        return;
    ilk__table_remove(&store->by_key, &entry->by_key);
    ilk__free(entry->key.data);
    entry->key = (ilk__bytes){NULL, 0};
    entry->has_left = 0;
    if (!is_settled)
        store->first_number = store->last_number + 1;
    else if (entry->number < name->next_number)
        name->next_number = entry->number;
}

ilk_status ilk__etcd_void_key_make(ilk__bytes *out,
                                   const ilk__etcd_entry *entry)
{
    static const char kind[] = "ilk:void/";
    const char *suffix = entry->key.data + entry->name->prefix_len;
    const size_t len = entry->key.len - entry->name->prefix_len;
    const ilk__bytes token = entry->contender->token;
    char *to = ilk__malloc(sizeof kind + len + 3 * token.len + 1);

    out->data = to;
    if (!to)
        return ILK_ENOMEM;
    memcpy(to, kind, sizeof kind - 1);
    to += sizeof kind - 1;
    memcpy(to, suffix, len);
    to += len;
    *to++ = '.';
    to = encode(to, token);
    out->len = (size_t)(to - out->data);
    return ILK_OK;
}

/* ---- reading ------------------------------------------------------------- */

static int is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Cut a number off the front; empty: there is none. */
static ilk__span cut_hex(ilk__span *rest, size_t most)
{
    ilk__span digits = {rest->at, 0};

    while (digits.len < rest->len && is_hex(rest->at[digits.len]))
        digits.len++;
    if (digits.len > most || (digits.len && digits.at[0] == '0'))
        digits.len = 0;
    rest->at += digits.len;
    rest->len -= digits.len;
    return digits;
}

static int cut(ilk__span *rest, char c)
{
    if (!rest->len || *rest->at != c)
        return 0;
    rest->at++;
    rest->len--;
    return 1;
}

static int parse_own(ilk__etcd_shape *out, ilk__span rest)
{
    ilk__span permits;
    int is_found = 0;

    if (!rest.len)
        return 0;
    out->kind = (ilk__contender_kind)*rest.at++;
    rest.len--;
    if (out->kind == ILK__CONTENDER_PERMITS) {
        permits = ilk__text_cut(&rest, '.', &is_found);
        out->permits = ilk__text_number(permits, INT64_MAX);
        if (!is_found || out->permits < 1)
            return 0;
    }
    if (!cut_hex(&rest, NUMBER_DIGITS).len)
        return 0;
    if (out->kind != ILK__CONTENDER_CANDIDATE)
        return !rest.len;
    if (!cut(&rest, '.') || !rest.len)
        return 0;
    for (size_t i = 0; i < rest.len; i++)
        if (!is_plain(rest.at[i]) && rest.at[i] != '%')
            return 0;
    out->token = rest;
    return 1;
}

static int is_kind_of(ilk__contender_kind kind, ilk__contended_kind of)
{
    switch (kind) {
    case ILK__CONTENDER_EXCLUSIVE:
    case ILK__CONTENDER_READER: return of == ILK__CONTENDED_LOCK;
    case ILK__CONTENDER_CANDIDATE: return of == ILK__CONTENDED_ELECTION;
    case ILK__CONTENDER_PERMITS: return of == ILK__CONTENDED_SEMAPHORE;
    }
    return 0;
}

int ilk__etcd_key_parse(ilk__etcd_shape *out, const ilk__etcd_name *name,
                        ilk__span key)
{
    ilk__span rest = {key.at + name->prefix_len, key.len - name->prefix_len};

    *out = (ilk__etcd_shape){.permits = 1};
    if (key.len <= name->prefix_len
        || memcmp(key.at, name->prefix, name->prefix_len) != 0)
        return 0;
    out->lease = cut_hex(&rest, LEASE_DIGITS);
    if (!out->lease.len)
        return 0;
    if (rest.len == 0 && name->kind != ILK__CONTENDED_SEMAPHORE) {
        out->is_foreign = 1;
        out->kind = name->kind == ILK__CONTENDED_ELECTION
                        ? ILK__CONTENDER_CANDIDATE
                        : ILK__CONTENDER_EXCLUSIVE;
        return 1;
    }
    return cut(&rest, '-') && parse_own(out, rest)
           && is_kind_of(out->kind, name->kind);
}

int ilk__etcd_key_excludes(const ilk__etcd_shape *one, ilk__contender_kind kind)
{
    return one->kind != ILK__CONTENDER_READER || kind != ILK__CONTENDER_READER;
}

static int digit(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

size_t ilk__etcd_token_decode(char *out, ilk__span encoded)
{
    size_t len = 0;

    for (size_t i = 0; i < encoded.len; i++)
        if (encoded.at[i] == '%' && i + 2 < encoded.len) {
            out[len++] = (char)(digit(encoded.at[i + 1]) * 16
                                + digit(encoded.at[i + 2]));
            i += 2;
        } else {
            out[len++] = encoded.at[i];
        }
    return len;
}

int ilk__etcd_token_equals(ilk__span encoded, ilk__span token)
{
    char text[1024];

    return encoded.len <= sizeof text
           && ilk__etcd_token_decode(text, encoded) == token.len
           && memcmp(text, token.at, token.len) == 0;
}

/* ---- values -------------------------------------------------------------- */

ilk_status ilk__etcd_value_make(ilk__bytes *out, const ilk__contender *of)
{
    const int64_t now = (int64_t)time(NULL) * 1000;
    char *to;

    if (of->kind == ILK__CONTENDER_CANDIDATE) {
        out->data = ilk__memdup(of->value.data, of->value.len);
        out->len = of->value.len;
        return out->data ? ILK_OK : ILK_ENOMEM;
    }
    to = ilk__malloc(SINCE + 3 * of->token.len + of->who.len);
    out->data = to;
    if (!to)
        return ILK_ENOMEM;
    to += snprintf(to, SINCE, "since=%" PRId64 " token=", now);
    to = stpcpy(encode(to, of->token), " who=");
    if (of->who.len)
        memcpy(to, of->who.data, of->who.len);
    out->len = (size_t)(to - out->data) + of->who.len;
    return ILK_OK;
}

/* Cut `key=...` off the front, up to a space; empty: it is not there. */
static ilk__span cut_word(ilk__span *rest, const char *key)
{
    ilk__span after = *rest, word = ilk__text_cut(&after, ' ', NULL);
    const size_t len = strlen(key);

    if (word.len < len || memcmp(word.at, key, len) != 0)
        return (ilk__span){"", 0};
    *rest = after;
    return (ilk__span){word.at + len, word.len - len};
}

void ilk__etcd_value_parse(ilk__etcd_value *out, ilk__span value)
{
    ilk__span rest = value;

    *out = (ilk__etcd_value){.token = {"", 0}, .who = {"", 0}};
    out->since_ms = ilk__text_number(cut_word(&rest, "since="), INT64_MAX);
    if (out->since_ms < 0)
        out->since_ms = 0;
    out->token = cut_word(&rest, "token=");
    if (rest.len >= 4 && memcmp(rest.at, "who=", 4) == 0)
        out->who = (ilk__span){rest.at + 4, rest.len - 4};
}
