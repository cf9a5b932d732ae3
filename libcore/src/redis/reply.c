/* SPDX-License-Identifier: MIT */
/*
 * reply.c -- the objects that hiredis' reader creates, and the limits on them.
 *
 * A reply is a tree in an arena. The header of the root says how many elements
 * will follow, which gives the size of the first chunk: a small reply needs one
 * allocation and one free.
 *
 *     struct tree | items of the root | nodes and texts ... -> more chunks
 *
 * Freeing the root frees the chunks without walking the tree, so that it may be
 * incomplete. hiredis takes a NULL from our functions for lack of memory; when
 * a limit was exceeded, `reason` in the reader's state says so.
 */
#include "reply.h"
#include "base/alloc.h"

#include <ctype.h>
#include <string.h>

#include <hiredis/read.h>

enum {
    CHUNK_MIN = 4096,
    CHUNK_MAX = 65536,
    PRESIZED = 64,   /* nodes that the first chunk has room for */
    TEXT_GUESS = 16, /* bytes of text per node that it has room for */
    LINE_MAX_BYTES = 65536,
    LENGTH_DIGITS = 20, /* of a bulk's announced length, sign included */
    BUFFER_SLACK = 1024 * 1024,
    BUFFER_KEPT = 256 * 1024
};

struct chunk {
    struct chunk *next;
    char data[];
};

struct tree {
    struct chunk *more;
    int attribute; /* skipped: it only describes the reply that follows it */
    ilk__reply root;
};

struct state {
    struct tree *tree; /* the one being built; hiredis owns it */
    char *at, *end;    /* the free part of its last chunk */
    size_t chunk_size; /* of the next chunk */
    size_t bytes, elements;
    size_t bytes_max, elements_max;
    const char *reason; /* why a reply was refused, static text; or NULL */
    ilk_status status;  /* of the first failure, which is final */
};

static void *refuse(struct state *state, const char *reason)
{
    state->reason = reason;
    return NULL;
}

/* The reader's state; at the root of a reply its counts start from zero. */
static struct state *counted(const redisReadTask *task)
{
    struct state *state = task->privdata;

    if (task->parent == NULL)
        state->bytes = state->elements = 0;
    return state;
}

static size_t rounded(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

/* Allocate in the tree's arena, aligned for a node. The size cannot overflow:
 * the limits were checked before. */
static void *allocate(struct state *state, size_t size)
{
    struct chunk *chunk;
    size_t room;
    char *data;

    size = rounded(size);
    if ((size_t)(state->end - state->at) < size) {
        room = size > state->chunk_size ? size : state->chunk_size;
        chunk = ilk__malloc(sizeof *chunk + room);
        if (chunk == NULL)
            return NULL;
        chunk->next = state->tree->more;
        state->tree->more = chunk;
        state->at = chunk->data;
        state->end = chunk->data + room;
        if (state->chunk_size < CHUNK_MAX)
            state->chunk_size *= 2;
    }
    data = state->at;
    state->at += size;
    return data;
}

/* Make a tree whose first chunk has room for extra bytes after the root. */
static ilk__reply *plant(struct state *state, size_t extra)
{
    struct tree *tree = ilk__malloc(sizeof *tree + extra);

    if (tree == NULL)
        return NULL;
    tree->more = NULL;
    tree->attribute = 0;
    state->tree = tree;
    state->at = (char *)(tree + 1);
    state->end = state->at + extra;
    state->chunk_size = CHUNK_MIN;
    return &tree->root;
}

/* Make a node and put it into its parent. For a root, extra bytes are allocated
 * with it, so that allocating its text or items cannot fail afterwards. */
static ilk__reply *grow(const redisReadTask *task, ilk__reply_type type,
                        size_t extra)
{
    struct state *state = task->privdata;
    ilk__reply *node, *parent;

    if (task->parent == NULL) {
        node = plant(state, extra);
    } else {
        node = allocate(state, sizeof *node);
        parent = task->parent->obj;
        parent->items[task->idx] = node;
    }
    if (node != NULL)
        *node = (ilk__reply){.type = type};
    return node;
}

static void *create_text(const redisReadTask *task, ilk__reply_type type,
                         const char *data, size_t len)
{
    struct state *state = counted(task);
    ilk__reply *node;

    if (len > state->bytes_max - state->bytes)
        return refuse(state, "more bytes than a reply may have");
    state->bytes += len;
    node = grow(task, type, rounded(len + 1));
    if (node == NULL || (node->str = allocate(state, len + 1)) == NULL)
        return NULL;
    memcpy(node->str, data, len);
    node->str[len] = '\0';
    node->len = len;
    return node;
}

/* The text lies in hiredis' buffer with the two bytes that end it, which hiredis
 * skips. Where they are missing the length is wrong, and bytes of the next reply
 * were taken for text. */
static void *create_string(const redisReadTask *task, char *data, size_t len)
{
    enum { VERBATIM_KIND = 4 }; /* "txt:" */
    ilk__reply *reply;

    if (memcmp(data + len, "\r\n", 2) != 0)
        return refuse(task->privdata, "a string without an end");
    if (task->type == REDIS_REPLY_VERB && len >= VERBATIM_KIND)
        return create_text(task, ILK__REPLY_STR, data + VERBATIM_KIND,
                           len - VERBATIM_KIND);
    if (task->type == REDIS_REPLY_ERROR)
        return create_text(task, ILK__REPLY_ERROR, data, len);
    reply = create_text(task, ILK__REPLY_STR, data, len);
    if (reply)
        reply->is_status = task->type == REDIS_REPLY_STATUS;
    return reply;
}

static void *create_double(const redisReadTask *task, double value, char *data,
                           size_t len)
{
    (void)value;
    return create_text(task, ILK__REPLY_STR, data, len);
}

static void *create_integer(const redisReadTask *task, long long value)
{
    ilk__reply *node = grow(task, ILK__REPLY_INT, 0);

    if (node != NULL)
        node->num = value;
    return node;
}

static void *create_bool(const redisReadTask *task, int value)
{
    return create_integer(task, value != 0);
}

static void *create_nil(const redisReadTask *task)
{
    return grow(task, ILK__REPLY_NIL, 0);
}

/* Why this array is refused; NULL when it is accepted. */
static const char *array_fault(const redisReadTask *task,
                               const struct state *state, size_t count)
{
    const redisReadTask *up;
    int depth = 1;

    for (up = task->parent; up != NULL; up = up->parent)
        depth++;
    if (depth > ILK__REPLY_DEPTH)
        return "nested too deeply";
    if (count > state->elements_max - state->elements)
        return "more elements than a reply may have";
    /* hiredis counts these two as elements; the protocol does not. */
    if (depth > 1 && task->type == REDIS_REPLY_ATTR)
        return "an attribute inside a reply";
    if (depth > 1 && task->type == REDIS_REPLY_PUSH)
        return "a push inside a reply";
    return NULL;
}

static void *create_array(const redisReadTask *task, size_t count)
{
    struct state *state = counted(task);
    const char *fault = array_fault(task, state, count);
    size_t items = rounded(count * sizeof(ilk__reply *));
    size_t nodes = count < PRESIZED ? count : PRESIZED;
    ilk__reply_type type = ILK__REPLY_ARRAY;
    ilk__reply *node;

    if (fault != NULL)
        return refuse(state, fault);
    state->elements += count;
    if (task->type == REDIS_REPLY_PUSH)
        type = ILK__REPLY_PUSH;
    node = grow(task, type, items + nodes * (sizeof *node + TEXT_GUESS));
    if (node == NULL)
        return NULL;
    if (count > 0 && (node->items = allocate(state, items)) == NULL)
        return NULL;
    node->count = count;
    if (task->type == REDIS_REPLY_ATTR)
        state->tree->attribute = 1;
    return node;
}

static struct tree *tree_of(ilk__reply *root)
{
    return (struct tree *)((char *)root - offsetof(struct tree, root));
}

void ilk__reply_free(ilk__reply *reply)
{
    struct tree *tree;
    struct chunk *chunk, *next;

    if (reply == NULL)
        return;
    tree = tree_of(reply);
    for (chunk = tree->more; chunk != NULL; chunk = next) {
        next = chunk->next;
        ilk__free(chunk);
    }
    ilk__free(tree);
}

const ilk__reply *ilk__reply_first(const ilk__reply *reply)
{
    return reply->type == ILK__REPLY_ARRAY && reply->count ? reply->items[0]
                                                           : reply;
}

int ilk__reply_is_text(const ilk__reply *reply, const char *text)
{
    return reply->type == ILK__REPLY_STR && reply->len == strlen(text)
           && memcmp(reply->str, text, reply->len) == 0;
}

static void free_object(void *root)
{
    ilk__reply_free(root);
}

static redisReplyObjectFunctions functions = {.createString = create_string,
                                              .createArray = create_array,
                                              .createInteger = create_integer,
                                              .createDouble = create_double,
                                              .createNil = create_nil,
                                              .createBool = create_bool,
                                              .freeObject = free_object};

static redisReader *make(size_t bytes_max, size_t elements_max)
{
    struct state *state = ilk__calloc(1, sizeof *state);
    redisReader *reader;

    if (state == NULL)
        return NULL;
    reader = redisReaderCreateWithFunctions(&functions);
    if (reader == NULL) {
        ilk__free(state);
        return NULL;
    }
    reader->privdata = state;
    reader->maxbuf = BUFFER_KEPT;
    reader->maxelements = (long long)elements_max;
    state->bytes_max = bytes_max;
    state->elements_max = elements_max;
    return reader;
}

struct redisReader *ilk__reader_new(void)
{
    return make(ILK__REPLY_BYTES, ILK__REPLY_ELEMENTS);
}

struct redisReader *ilk__reader_new_for_commands(void)
{
    return make(ILK__COMMAND_BYTES, ILK__COMMAND_ELEMENTS);
}

void ilk__reader_free(struct redisReader *reader)
{
    struct state *state;

    if (reader == NULL)
        return;
    state = reader->privdata;
    redisReaderFree(reader);
    ilk__free(state);
}

/* Report the failure of the stream, which is final. */
static ilk_status fail_for_good(redisReader *reader, ilk_error *err)
{
    struct state *state = reader->privdata;
    const char *text = reader->errstr;

    if (state->status == ILK_OK && state->reason == NULL
        && (reader->err == REDIS_ERR_OOM || reader->err == 0))
        state->status = ILK_ENOMEM;
    if (state->status == ILK_ENOMEM)
        return ilk__fail(err, ILK_ENOMEM, "no memory to read a reply");
    state->status = ILK_EREPLY;
    if (state->reason != NULL)
        return ilk__fail(err, ILK_EREPLY, "the reply makes no sense: %s",
                         state->reason);
    return ilk__fail(err, ILK_EREPLY, "the reply makes no sense: %c%s",
                     tolower((unsigned char)text[0]),
                     text[0] == '\0' ? "" : text + 1);
}

ilk_status ilk__reader_feed(struct redisReader *reader, const void *data,
                            size_t len, ilk_error *err)
{
    struct state *state = reader->privdata;
    size_t kept = reader->len - reader->pos;

    if (state->status != ILK_OK)
        return fail_for_good(reader, err);
    if (len > state->bytes_max + BUFFER_SLACK - kept) {
        refuse(state, "more bytes than a reply may have");
        return fail_for_good(reader, err);
    }
    if (redisReaderFeed(reader, data, len) != REDIS_OK)
        return fail_for_good(reader, err);
    return ILK_OK;
}

/* Check the length of a bulk string, as far as its digits have come, against
 * the bytes that the reply may still have. hiredis would first wait for all of
 * its data. */
static const char *bulk_fault(const char *digits, size_t len, size_t allowed)
{
    size_t value = 0, i;

    for (i = 0; i < len && digits[i] >= '0' && digits[i] <= '9'; i++) {
        value = value * 10 + (size_t)(digits[i] - '0');
        if (value > allowed)
            return "more bytes than a reply may have";
    }
    if (len > LENGTH_DIGITS && memchr(digits, '\r', LENGTH_DIGITS) == NULL)
        return "a length without an end";
    return NULL;
}

/* Why the incomplete item must be refused already; NULL: wait for more. */
static const char *unfinished_fault(const redisReader *reader)
{
    const struct state *state = reader->privdata;
    size_t len = reader->len - reader->pos, spent;
    const redisReadTask *task;

    if (reader->ridx < 0 || len == 0)
        return NULL;
    task = reader->task[reader->ridx];
    spent = task->parent == NULL ? 0 : state->bytes;
    if (task->type == REDIS_REPLY_STRING || task->type == REDIS_REPLY_VERB)
        return bulk_fault(reader->buf + reader->pos, len,
                          state->bytes_max - spent);
    return len > LINE_MAX_BYTES ? "a line without an end" : NULL;
}

ilk_status ilk__reader_next(struct redisReader *reader, ilk__reply **out,
                            ilk_error *err)
{
    struct state *state = reader->privdata;
    void *root;

    *out = NULL;
    if (state->status != ILK_OK)
        return fail_for_good(reader, err);
    for (;;) {
        if (redisReaderGetReply(reader, &root) != REDIS_OK)
            return fail_for_good(reader, err);
        if (root == NULL) {
            state->reason = unfinished_fault(reader);
            return state->reason == NULL ? ILK_EAGAIN
                                         : fail_for_good(reader, err);
        }
        if (!tree_of(root)->attribute)
            break;
        ilk__reply_free(root);
    }
    *out = root;
    return ILK_OK;
}
