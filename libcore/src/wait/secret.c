/* SPDX-License-Identifier: MIT */
/* secret.c -- the secrets by which inbox messages prove themselves. */
#include "secret.h"

#include "base/hex.h"
#include "base/siphash.h"
#include "pubsub/message.h"

#include <string.h>

static void write_hash(char out[ILK__SECRET_LEN + 1], uint64_t hash)
{
    for (int shift = 56; shift >= 0; shift -= 8)
        out = ilk__hex(out, (unsigned char)(hash >> shift));
    *out = '\0';
}

/* The entry of a wait for signals and of a consumer: one for all its names. */
static int has_names(char kind)
{
    return kind == 's' || kind == 'q';
}

/* Waiters and lists are hashed under different keys, so that no list's name can
 * look like a waiter. */
void ilk__secret_of_waiter(char out[ILK__SECRET_LEN + 1],
                           const ilk__shared *shared, char kind, int64_t waiter,
                           const void *name, size_t len)
{
    const uint64_t whom[] = {
        (unsigned char)kind, (uint64_t)waiter,
        has_names(kind) ? 0 : ilk__siphash(shared->list_key, name, len)};

    write_hash(out, ilk__siphash(shared->waiter_key, whom, sizeof whom));
}

void ilk__secret_of_list(char out[ILK__SECRET_LEN + 1],
                         const ilk__shared *shared, const void *name,
                         size_t len)
{
    write_hash(out, ilk__siphash(shared->list_key, name, len));
}

void ilk__secret_address(char out[ILK__ADDRESS_LEN + 1],
                         const ilk__shared *shared, const void *name,
                         size_t len)
{
    memcpy(out, shared->client_id, ILK__CLIENT_ID_LEN);
    out[ILK__CLIENT_ID_LEN] = '.';
    ilk__secret_of_list(out + ILK__CLIENT_ID_LEN + 1, shared, name, len);
}

/* The time that this takes does not depend on where the texts differ. */
static int is_equal(const char *given, const char *expected)
{
    int differs = 0;

    if (strlen(given) != ILK__SECRET_LEN)
        return 0;
    for (size_t i = 0; i < ILK__SECRET_LEN; i++)
        differs |= given[i] ^ expected[i];
    return !differs;
}

int ilk__secret_proves(const ilk__shared *shared, const ilk__message *message)
{
    char expected[ILK__SECRET_LEN + 1];

    if (message->type == ILK__MESSAGE_GRANT
        || message->type == ILK__MESSAGE_WAKE)
        ilk__secret_of_waiter(expected, shared, message->kind, message->waiter,
                              message->name, message->name_len);
    else
        ilk__secret_of_list(expected, shared, message->name, message->name_len);
    return is_equal(message->secret, expected);
}
