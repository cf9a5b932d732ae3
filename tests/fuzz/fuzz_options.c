/* SPDX-License-Identifier: MIT */
/*
 * fuzz_options.c -- any bytes as the options of a client and of each primitive.
 *
 * The first byte chooses whose options they are, the second how many bytes the
 * caller's struct has, and the rest fills it. Pointers in it are replaced by
 * the name that follows. Nothing is sent: the client does not connect.
 *
 *     options from a caller      the result is ILK_OK or ILK_EINVAL, with a
 *                                handle or a text, never both
 *     the same, with zeros       a newer caller's struct: the same result
 *     appended
 *     one of them not zero       ILK_EINVAL: an option that is not known
 */
#include "fuzz.h"

#include <interlock.h>

#include <stddef.h>

enum { STRUCT_MOST = 256, TEXT_MOST = 600 };

typedef union room {
    size_t size;
    unsigned char bytes[STRUCT_MOST];
    max_align_t alignment;
} room;

/* The choices of the input beside the struct. */
typedef struct extra {
    ilk_client *client;
    const char *text;
    size_t len;
    int64_t number;
} extra;

typedef struct kind {
    size_t size;
    size_t pointers[2], lengths[2]; /* offsets of fields; 0: there is none */
    ilk_status (*open)(void **out, const void *opts, const extra *with,
                       ilk_error *err);
    void (*close)(void *object);
} kind;

/* ---- one function for each kind of options ------------------------------ */

/* NAME(noun, type): open and free an object that a name and options make. */
#define NAME(noun, open_function, type)                                        \
    static ilk_status open_##noun(void **out, const void *opts,                \
                                  const extra *with, ilk_error *err)           \
    {                                                                          \
        return open_function((ilk_##type **)out, with->client, with->text,     \
                             with->len, opts, err);                            \
    }

#define FREE(type)                                                             \
    static void free_##type(void *object)                                      \
    {                                                                          \
        ilk_##type##_free(object);                                             \
    }

NAME(lock, ilk_lock_open, lock)
NAME(read, ilk_rwlock_read_open, lock)
NAME(write, ilk_rwlock_write_open, lock)
NAME(election, ilk_election_open, election)
NAME(signal, ilk_signal_open, signal)
NAME(event, ilk_event_open, event)
NAME(queue, ilk_queue_open, queue)
FREE(client)
FREE(lock)
FREE(lock_many)
FREE(semaphore)
FREE(election)
FREE(signal)
FREE(event)
FREE(latch)
FREE(barrier)
FREE(queue)
FREE(worker)
FREE(member)

static ilk_status open_client(void **out, const void *opts, const extra *with,
                              ilk_error *err)
{
    (void)with;
    return ilk_client_open((ilk_client **)out, "unix:///nowhere", opts, err);
}

static ilk_status open_semaphore(void **out, const void *opts,
                                 const extra *with, ilk_error *err)
{
    return ilk_semaphore_open((ilk_semaphore **)out, with->client, with->text,
                              with->len, (int32_t)with->number, opts, err);
}

static ilk_status open_latch(void **out, const void *opts, const extra *with,
                             ilk_error *err)
{
    return ilk_latch_open((ilk_latch **)out, with->client, with->text,
                          with->len, with->number, opts, err);
}

static ilk_status open_barrier(void **out, const void *opts, const extra *with,
                               ilk_error *err)
{
    return ilk_barrier_open((ilk_barrier **)out, with->client, with->text,
                            with->len, with->number, opts, err);
}

static ilk_status open_lock_many(void **out, const void *opts,
                                 const extra *with, ilk_error *err)
{
    const void *names[] = {with->text, "orders"};
    const size_t lens[] = {with->len, 6};

    return ilk_lock_many_open((ilk_lock_many **)out, with->client, names, lens,
                              2, opts, err);
}

static ilk_status open_worker(void **out, const void *opts, const extra *with,
                              ilk_error *err)
{
    const void *names[] = {with->text, "orders"};
    const size_t lens[] = {with->len, 6};

    return ilk_worker_open((ilk_worker **)out, with->client, names, lens, 2,
                           NULL, opts, err);
}

static ilk_status open_member(void **out, const void *opts, const extra *with,
                              ilk_error *err)
{
    ilk_group *group = NULL;
    ilk_status st = ilk_group_open(&group, with->client, "orders", 6, err);

    *out = NULL;
    if (st == ILK_OK)
        st = ilk_member_open((ilk_member **)out, group, with->text, with->len,
                             opts, err);
    ilk_group_free(group);
    return st;
}

static const kind kinds[] = {
    {.size = sizeof(ilk_client_opts),
     .pointers = {offsetof(ilk_client_opts, label),
                  offsetof(ilk_client_opts, listen)},
     .open = open_client,
     .close = free_client},
    {sizeof(ilk_lock_opts), {0}, {0}, open_lock, free_lock},
    {sizeof(ilk_lock_opts), {0}, {0}, open_read, free_lock},
    {sizeof(ilk_lock_opts), {0}, {0}, open_write, free_lock},
    {sizeof(ilk_lock_opts), {0}, {0}, open_lock_many, free_lock_many},
    {sizeof(ilk_semaphore_opts), {0}, {0}, open_semaphore, free_semaphore},
    {.size = sizeof(ilk_election_opts),
     .pointers = {offsetof(ilk_election_opts, value),
                  offsetof(ilk_election_opts, identity)},
     .lengths = {offsetof(ilk_election_opts, value_len),
                 offsetof(ilk_election_opts, identity_len)},
     .open = open_election,
     .close = free_election},
    {sizeof(ilk_signal_opts), {0}, {0}, open_signal, free_signal},
    {sizeof(ilk_event_opts), {0}, {0}, open_event, free_event},
    {sizeof(ilk_latch_opts), {0}, {0}, open_latch, free_latch},
    {sizeof(ilk_barrier_opts), {0}, {0}, open_barrier, free_barrier},
    {sizeof(ilk_queue_opts), {0}, {0}, open_queue, free_queue},
    {sizeof(ilk_worker_opts), {0}, {0}, open_worker, free_worker},
    {sizeof(ilk_member_opts), {0}, {0}, open_member, free_member}};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* ---- the struct --------------------------------------------------------- */

/* A pointer of the struct that is set points to the text, and a length is one
 * of the text. Half a pointer, at the end of a short struct, is none. */
static void set_pointers(room *opts, const kind *k, const extra *with)
{
    for (int i = 0; i < 2; i++) {
        unsigned char *field = opts->bytes + k->pointers[i];
        const char *text;
        size_t len;

        if (k->pointers[i] == 0)
            continue;
        memcpy(&text, field, sizeof text);
        text = text && k->pointers[i] + sizeof text <= opts->size ? with->text
                                                                  : NULL;
        memcpy(field, &text, sizeof text);
        if (k->lengths[i] == 0)
            continue;
        memcpy(&len, opts->bytes + k->lengths[i], sizeof len);
        len = text && with->len ? len % (with->len + 1) : 0;
        memcpy(opts->bytes + k->lengths[i], &len, sizeof len);
    }
}

static void fill(room *opts, const kind *k, size_t size, fuzz_input *in)
{
    memset(opts, 0, sizeof *opts);
    for (size_t i = sizeof(size_t); i < size; i++)
        opts->bytes[i] = fuzz_byte(in);
    opts->size = size;
    if (k->open == open_client && size > offsetof(ilk_client_opts, flags)) {
        ilk_client_opts *client = (ilk_client_opts *)opts;

        client->flags |= ILK_CLIENT_LAZY;
    }
}

/* The struct has exactly its own memory. */
static ilk_status attempt(const kind *k, const room *opts, const extra *with)
{
    size_t size = opts->size < sizeof(size_t) ? sizeof(size_t) : opts->size;
    char *copy = fuzz_copy(opts->bytes, size);
    void *object = &copy;
    ilk_error err = {0};
    ilk_status status = k->open(&object, copy, with, &err);

    CHECK(status == ILK_OK || status == ILK_EINVAL);
    CHECK((status == ILK_OK) == (object != NULL));
    CHECK(err.code == status && (status == ILK_OK) == (err.msg[0] == '\0'));
    CHECK(!strchr(err.msg, '\n'));
    k->close(object);
    free(copy);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const kind *k = &kinds[fuzz_pick(&in, KINDS)];
    size_t theirs = fuzz_byte(&in) % (k->size + 1), more = fuzz_byte(&in);
    const ilk_client_opts lazy = {.size = sizeof lazy,
                                  .flags = ILK_CLIENT_LAZY};
    extra with = {.number = fuzz_number(&in)};
    room opts;
    ilk_status status;

    if (theirs == 0
        || (k->open == open_client
            && theirs < offsetof(ilk_client_opts, protocol)))
        theirs = k->size;
    with.text = fuzz_text(&in, TEXT_MOST, &with.len);
    fill(&opts, k, theirs, &in);
    set_pointers(&opts, k, &with);
    CHECK(ilk_client_open(&with.client, "unix:///nowhere", &lazy, NULL)
          == ILK_OK);
    status = attempt(k, &opts, &with);
    if (theirs == k->size && theirs + more < STRUCT_MOST) {
        opts.size = theirs + more;
        CHECK(attempt(k, &opts, &with) == status);
        opts.bytes[theirs + more] = 1;
        opts.size = theirs + more + 1;
        CHECK(attempt(k, &opts, &with) == ILK_EINVAL);
    }
    ilk_client_free(with.client);
    free((char *)with.text);
    return 0;
}
