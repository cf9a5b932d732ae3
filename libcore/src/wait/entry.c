/* SPDX-License-Identifier: MIT */
/* entry.c -- the text that stands for one waiter in a wait queue. */
#include "entry.h"

#include "base/token.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

size_t ilk__entry_write(char out[ILK__ENTRY_MAX], const ilk__entry *entry)
{
    int version = entry->kind == 's' ? 2 : 1;
    int len = snprintf(
        out, ILK__ENTRY_MAX,
        "%d %c %s %c%" PRId64 ".%s %s %" PRId64 " %" PRId64 " %s", version,
        entry->kind, entry->client, entry->kind, entry->waiter, entry->secret,
        entry->token, entry->lease_ms, entry->permits, entry->who);

    return len < ILK__ENTRY_MAX ? (size_t)len : ILK__ENTRY_MAX - 1;
}

/* Return the next word and advance *at past the space after it; NULL when no
 * space follows. */
static const char *next_word(const char **at, const char *end, size_t *out_len)
{
    const char *word = *at;
    const char *space = memchr(word, ' ', (size_t)(end - word));

    if (space == NULL)
        return NULL;
    *out_len = (size_t)(space - word);
    *at = space + 1;
    return word;
}

/* At most 18 digits, so that the number cannot overflow. */
static int read_number(const char *word, size_t len, int64_t *out)
{
    int64_t number = 0;

    if (len == 0 || len > 18)
        return 0;
    for (size_t i = 0; i < len; i++) {
        if (word[i] < '0' || word[i] > '9')
            return 0;
        number = number * 10 + (word[i] - '0');
    }
    *out = number;
    return 1;
}

ilk__who ilk__who_read(const char *text, size_t len)
{
    size_t digits = 0;

    while (digits < len && digits < ILK__CLIENT_ID_LEN
           && strchr("0123456789abcdef", text[digits]) && text[digits])
        digits++;
    if (digits < ILK__CLIENT_ID_LEN || digits == len || text[digits] != ' ')
        return (ilk__who){"", 0, text, len};
    return (ilk__who){text, digits, text + digits + 1, len - digits - 1};
}

/* The entries that stores without scripts show have no client, but a `who` as records
 * have it. */
static ilk__who who_of(const char *client, size_t client_len, const char *who,
                       size_t who_len)
{
    ilk__who found = ilk__who_read(who, who_len);

    const char *dot = memchr(client, '.', client_len); /* before a secret */

    if (!found.client_len && !(client_len == 1 && client[0] == '-')) {
        found.client = client;
        found.client_len = dot ? (size_t)(dot - client) : client_len;
    }
    return found;
}

int ilk__entry_read(ilk__entry_text *out, const char *text, size_t len)
{
    enum { VERSION, KIND, CLIENT, WAITER, TOKEN, LEASE, PERMITS, FIELDS };
    const char *fields[FIELDS], *at = text, *end = text + len;
    size_t lens[FIELDS];

    for (int i = 0; i < FIELDS; i++) {
        fields[i] = next_word(&at, end, &lens[i]);
        if (fields[i] == NULL)
            return 0;
    }
    if (lens[VERSION] != 1 || lens[KIND] != 1
        || fields[VERSION][0] != (fields[KIND][0] == 's' ? '2' : '1'))
        return 0;
    out->token = fields[TOKEN];
    out->token_len = lens[TOKEN];
    out->who = who_of(fields[CLIENT], lens[CLIENT], at, (size_t)(end - at));
    return read_number(fields[PERMITS], lens[PERMITS], &out->permits);
}
