/* SPDX-License-Identifier: MIT */
/*
 * zookeeper_nodes.c -- the paths and the data of nodes.
 *
 *     /path/orders/_c_<uuid>-lock-0000000007               a lock, as Curator's
 *     /path/orders/_c_<uuid>-__READ__0000000008            a reader
 *     /path/ilk:election:{orders}/_c_<uuid>-latch-0000000001
 *     /path/ilk:semaphore:{orders}/_c_<uuid>-permits-2-lease-0000000001
 *     /path/ilk:register:{limit}            see zookeeper_registers.c
 *
 * In a name each byte that is no printable ASCII character, '/' and '%' is %XX, and
 * so are the dots of `.` and `..`, and the first letter of `zookeeper` below the root,
 * where the server has nodes of its own.
 *
 * Curator's __WRIT__ and kazoo's __lock__ exclude us and are excluded.
 *
 * The data of a node is `since=<ms of the epoch> token=<token> who=<text>` and a line
 * feed; both words are encoded as names are, with %20 for spaces. Then follows a
 * candidate's value.
 */
#include "zookeeper_store.h"

#include "base/alloc.h"
#include "base/token.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 64 }; /* all of the data but token, who and value */

static int is_plain(char c)
{
    return c >= ' ' && c <= '~' && c != '/' && c != '%';
}

static char *encode_byte(char *to, char c)
{
    static const char digits[] = "0123456789ABCDEF";

    *to++ = '%';
    *to++ = digits[(unsigned char)c >> 4];
    *to++ = digits[(unsigned char)c & 15];
    return to;
}

static char *encode(char *to, ilk__span text, int with_spaces)
{
    for (size_t i = 0; i < text.len; i++)
        if (is_plain(text.at[i]) && (with_spaces || text.at[i] != ' '))
            *to++ = text.at[i];
        else
            to = encode_byte(to, text.at[i]);
    *to = '\0';
    return to;
}

static int is_reserved(const char *path, ilk__span text)
{
    return (text.len == 1 && text.at[0] == '.')
           || (text.len == 2 && memcmp(text.at, "..", 2) == 0)
           || (!*path && text.len == 9 && memcmp(text.at, "zookeeper", 9) == 0);
}

char *ilk__zk_path_of(const char *path, ilk__span key)
{
    char *text = ilk__malloc(strlen(path) + 3 * key.len + 8), *to;
    int rest = 0;

    if (!text)
        return NULL;
    to = stpcpy(text, path);
    *to++ = '/';
    if (is_reserved(path, key)) {
        rest = 1;
        to = encode_byte(to, key.at[0]);
        if (key.at[0] == '.' && key.len == 2) {
            rest = 2;
            to = encode_byte(to, key.at[1]);
        }
    }
    encode(to, (ilk__span){key.at + rest, key.len - (size_t)rest}, 1);
    return text;
}

static char *join_path(const char *parent, const char *child)
{
    const size_t room = strlen(parent) + strlen(child) + 2;
    char *text = ilk__malloc(room);

    if (text)
        snprintf(text, room, "%s/%s", parent, child);
    return text;
}

char *ilk__zk_child_path(const ilk__zk_name *name, const char *child)
{
    return join_path(name->path, child);
}

char *ilk__zk_entry_path(const ilk__zk_entry *entry)
{
    const ilk__contender *contender = entry->contender;
    char child[ILK__ZK_UUID + 64], middle[48] = "-lock-";

    switch (contender->kind) {
    case ILK__CONTENDER_EXCLUSIVE: break;
    case ILK__CONTENDER_READER:
        snprintf(middle, sizeof middle, "-__READ__");
        break;
    case ILK__CONTENDER_CANDIDATE:
        snprintf(middle, sizeof middle, "-latch-");
        break;
    case ILK__CONTENDER_PERMITS:
        snprintf(middle, sizeof middle, "-permits-%" PRId64 "-lease-",
                 contender->permits);
        break;
    }
    snprintf(child, sizeof child, "_c_%s%s", entry->uuid, middle);
    return join_path(entry->name->path, child);
}

int ilk__zk_uuid(char out[ILK__ZK_UUID + 1])
{
    char digits[ILK__TOKEN_LEN + 1], *to = out;

    if (ilk__token(digits, ILK__TOKEN_LEN, NULL))
        return 0;
    digits[12] = '4'; /* version and variant of a random one */
    digits[16] = "89ab"[digits[16] & 3];
    for (int i = 0; i < ILK__TOKEN_LEN; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            *to++ = '-';
        *to++ = digits[i];
    }
    *to = '\0';
    return 1;
}

/* ---- reading ------------------------------------------------------------- */

/* The part behind the last occurrence of a mark, or NULL. */
static const char *behind(const char *child, const char *mark)
{
    const char *found = NULL;

    for (const char *at = strstr(child, mark); at; at = strstr(at + 1, mark))
        found = at;
    return found ? found + strlen(mark) : NULL;
}

static int parse_number(int32_t *out, const char *digits)
{
    const size_t len = strlen(digits);
    const int is_negative = digits[0] == '-';
    int64_t number = 0;

    if (len < 10 || len > 11)
        return 0;
    for (const char *at = digits + is_negative; *at; at++) {
        if (*at < '0' || *at > '9')
            return 0;
        number = number * 10 + (*at - '0');
    }
    number = is_negative ? -number : number;
    if (number < INT32_MIN || number > INT32_MAX)
        return 0;
    *out = (int32_t)number;
    return 1;
}

static int parse_permits(ilk__zk_shape *out, const char *child)
{
    const char *permits = behind(child, "-permits-"),
               *rest = behind(child, "-lease-");
    char *end = NULL;

    if (!permits || !rest)
        return 0;
    out->permits = strtoll(permits, &end, 10);
    out->kind = ILK__CONTENDER_PERMITS;
    return out->permits >= 1 && strncmp(end, "-lease-", 7) == 0
           && parse_number(&out->number, rest);
}

int ilk__zk_shape_parse(ilk__zk_shape *out, const ilk__zk_name *name,
                        const char *child)
{
    static const char *const exclusive[] = {"-lock-", "__lock__", "__WRIT__"};
    const char *rest;

    *out = (ilk__zk_shape){.kind = ILK__CONTENDER_EXCLUSIVE, .permits = 1};
    switch (name->kind) {
    case ILK__CONTENDED_SEMAPHORE: return parse_permits(out, child);
    case ILK__CONTENDED_ELECTION:
        out->kind = ILK__CONTENDER_CANDIDATE;
        rest = behind(child, "-latch-");
        return rest && parse_number(&out->number, rest);
    case ILK__CONTENDED_LOCK: break;
    }
    rest = behind(child, "__READ__");
    if (rest && parse_number(&out->number, rest)) {
        out->kind = ILK__CONTENDER_READER;
        return 1;
    }
    for (size_t i = 0; i < sizeof exclusive / sizeof *exclusive; i++) {
        rest = behind(child, exclusive[i]);
        if (rest && parse_number(&out->number, rest))
            return 1;
    }
    return 0;
}

int ilk__zk_is_before(int32_t a, int32_t b)
{
    return a != b && (uint32_t)a - (uint32_t)b > (uint32_t)INT32_MAX;
}

static int digit(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

size_t ilk__zk_decode(char *out, ilk__span encoded)
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

/* ---- data ---------------------------------------------------------------- */

ilk_status ilk__zk_data_make(ilk__bytes *out, const ilk__contender *of,
                             int64_t since_ms)
{
    static const char who[] = " who=";
    char *to;

    out->data =
        ilk__malloc(HEAD + 3 * (of->token.len + of->who.len) + of->value.len);
    if (!out->data)
        return ILK_ENOMEM;
    to = out->data
         + snprintf(out->data, HEAD, "since=%" PRId64 " token=", since_ms);
    to = encode(to, (ilk__span){of->token.data, of->token.len}, 0);
    memcpy(to, who, sizeof who - 1);
    to = encode(to + sizeof who - 1, (ilk__span){of->who.data, of->who.len}, 0);
    *to++ = '\n';
    if (of->value.len)
        memcpy(to, of->value.data, of->value.len);
    out->len = (size_t)(to - out->data) + of->value.len;
    return ILK_OK;
}

static ilk__span word(ilk__span *line, const char *key)
{
    const size_t len = strlen(key);
    ilk__span one = ilk__text_cut(line, ' ', NULL);

    if (one.len < len || memcmp(one.at, key, len) != 0)
        return (ilk__span){"", 0};
    return (ilk__span){one.at + len, one.len - len};
}

void ilk__zk_data_parse(ilk__span data, int64_t *out_since,
                        ilk__span *out_token, ilk__span *out_who,
                        ilk__span *out_value)
{
    int has_line = 0;
    ilk__span rest = data, line = ilk__text_cut(&rest, '\n', &has_line);
    const ilk__span since = word(&line, "since=");

    *out_token = word(&line, "token=");
    *out_who = word(&line, "who=");
    *out_value = rest;
    *out_since = since.len ? ilk__text_number(since, INT64_MAX) : 0;
    if (*out_since < 0)
        *out_since = 0;
    if (!has_line || !since.len) { /* another program's */
        *out_token = (ilk__span){"", 0};
        *out_who = (ilk__span){"", 0};
        *out_value = data;
    }
}
