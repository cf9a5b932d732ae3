/* SPDX-License-Identifier: MIT */
/*
 * fuzz_entry.c -- any bytes as an entry of a wait queue; and an entry that is
 * written from parts of the input and read again.
 */
#include "fuzz.h"

#include "wait/entry.h"

#include <interlock/election.h>

enum {
    CLIENT_MOST = 33, /* id, dot, secret */
    TOKEN_MOST = ILK_ELECTION_IDENTITY_MAX + 21
};

static int lies_in(const char *at, size_t len, const char *text, size_t size)
{
    return at >= text && len <= size && at + len <= text + size;
}

static void read_any(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size);
    ilk__entry_text entry;

    if (ilk__entry_read(&entry, text, size)) {
        CHECK(lies_in(entry.token, entry.token_len, text, size));
        CHECK(lies_in(entry.who.label, entry.who.label_len, text, size));
        CHECK(entry.who.label + entry.who.label_len == text + size);
        CHECK(!entry.who.client_len
              || lies_in(entry.who.client, entry.who.client_len, text, size));
        CHECK(entry.token[entry.token_len] == ' ');
        CHECK(memchr(entry.token, ' ', entry.token_len) == NULL);
        CHECK(entry.permits >= 0);
    }
    free(text);
}

/* A word for the entry: no space, no NUL, not empty. */
static char *word(fuzz_input *in, size_t most)
{
    size_t len;
    char *text = fuzz_text(in, most, &len);

    for (size_t i = 0; i < len; i++)
        if (text[i] == ' ' || text[i] == '\0')
            text[i] = '_';
    if (len != 0)
        return text;
    free(text);
    return fuzz_copy("-", 1);
}

/* A long `who` is truncated, every other part comes back as it was written. An
 * entry of a signal has another version. */
static void write_and_read(fuzz_input *in)
{
    char *client = word(in, CLIENT_MOST), *token = word(in, TOKEN_MOST);
    size_t who_len;
    char *who = fuzz_text(in, 1000, &who_len), text[ILK__ENTRY_MAX];
    const ilk__entry entry = {.kind = (char)('a' + fuzz_pick(in, 26)),
                              .client = client,
                              .waiter = fuzz_number(in) & INT64_MAX,
                              .secret = "0123456789abcdef",
                              .token = token,
                              .lease_ms = fuzz_number(in) & INT64_MAX,
                              .permits = fuzz_byte(in),
                              .who = who};
    size_t len = ilk__entry_write(text, &entry);
    ilk__entry_text read;

    CHECK(len < ILK__ENTRY_MAX && len == strlen(text));
    CHECK(ilk__entry_read(&read, text, len));
    CHECK(read.token_len == strlen(token));
    CHECK(memcmp(read.token, token, read.token_len) == 0);
    CHECK(read.permits == entry.permits);
    CHECK(read.who.label + read.who.label_len == text + len);
    CHECK(read.who.label_len <= strlen(who));
    CHECK(read.who.label_len == strlen(who) || len == ILK__ENTRY_MAX - 1
          || ilk__who_read(who, strlen(who)).client_len);
    free(client);
    free(token);
    free(who);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};

    read_any(data, size);
    write_and_read(&in);
    return 0;
}
