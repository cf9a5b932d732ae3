/* SPDX-License-Identifier: MIT */
/*
 * fuzz_script.c -- any reply as the answer to a call of any script.
 *
 * The first byte chooses the script, the second decides whether the reply's
 * first number is replaced by one that carries the request's number. A reply is
 * proven if, and only if, it begins with that number; a shape is accepted only
 * if a second, plainer comparison with the declaration accepts it.
 */
#include "fuzz.h"

#include "redis/expected_reply.h"
#include "redis/script.h"

enum { REQUEST = 4711, CODES = 64 };

static ilk__reply *read_reply(const uint8_t *data, size_t size)
{
    struct redisReader *reader = ilk__reader_new();
    ilk__reply *reply = NULL;

    CHECK(reader != NULL);
    if (ilk__reader_feed(reader, data, size, NULL) == ILK_OK)
        (void)ilk__reader_next(reader, &reply, NULL);
    ilk__reader_free(reader);
    return reply;
}

/* The number that begins the reply or is all of it; NULL: there is none. */
static ilk__reply *head_of(ilk__reply *reply)
{
    if (reply->type == ILK__REPLY_ARRAY && reply->count > 0)
        reply = reply->items[0];
    return reply->type == ILK__REPLY_INT ? reply : NULL;
}

static void check_match(ilk__reply *reply)
{
    static const ilk__reply_kind kinds[] = {ILK__REPLIES_ANY, ILK__REPLIES_INT,
                                            ILK__REPLIES_STR,
                                            ILK__REPLIES_ARRAY};
    const ilk__expected_reply mine = {ILK__REPLIES_NUMBERED, REQUEST};
    const ilk__reply *head = head_of(reply);
    int64_t number = head ? head->num : -1;
    int proven = number / CODES == REQUEST && number >= 0;
    int error = reply->type == ILK__REPLY_ERROR;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const ilk__expected_reply other = {kinds[i], REQUEST};

        CHECK(ilk__match_reply(&other, reply) != ILK__MATCH_PROVEN);
    }
    CHECK(ilk__match_reply(&mine, reply)
          == (error    ? ILK__MATCH_POSSIBLE
              : proven ? ILK__MATCH_PROVEN
                       : ILK__MATCH_FOREIGN));
    if (proven)
        CHECK(head->num == number % CODES);
}

/* A string of a script has a length. */
static int is_of_type(const ilk__reply *item, char type)
{
    if (type == 'i')
        return item->type == ILK__REPLY_INT;
    return item->type == ILK__REPLY_STR && !item->is_status;
}

/* Whether the declaration of the script has this reply. */
static int is_declared(const ilk__script *script, ilk__reply *reply)
{
    const ilk__reply *head = head_of(reply);

    if (head == NULL)
        return 0;
    for (size_t i = 0; i < script->shape_count; i++) {
        const char *types = script->shapes[i].types;
        size_t len = strcspn(types, "*"), at = 0;

        if (script->shapes[i].code != head->num)
            continue;
        if (head == reply && len == 0 && types[len] == '\0')
            return 1;
        while (at < len && at + 1 < reply->count
               && is_of_type(reply->items[at + 1], types[at]))
            at++;
        if (at == len
            && (reply->count == len + 1
                || (types[len] == '*' && reply->count > len)))
            return 1;
    }
    return 0;
}

static void check_shape(int number, ilk__reply *reply)
{
    const ilk__script *script = &ilk__scripts[number];
    ilk_error err = {0};
    ilk_status status = ilk__script_check(number, reply, &err);

    CHECK(status == ILK_OK || status == ILK_EREPLY);
    CHECK(err.code == status);
    CHECK((status == ILK_OK) == is_declared(script, reply));
    if (status != ILK_OK)
        return;
    CHECK(ilk__script_code(reply) >= 0 && ilk__script_code(reply) < CODES);
    for (size_t i = 0; i + 1 < reply->count; i++) {
        int64_t value = ilk__script_int(reply, i);

        CHECK(ilk__script_item(reply, i) == reply->items[i + 1]);
        CHECK(value >= -ILK__SCRIPT_INT_MAX && value <= ILK__SCRIPT_INT_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    int script = (int)fuzz_pick(&in, ILK__SCRIPT_COUNT);
    uint8_t numbered = fuzz_byte(&in);
    ilk__reply *reply = read_reply(in.at, in.left), *head;

    if (reply == NULL)
        return 0;
    head = head_of(reply);
    if (numbered < CODES && head)
        head->num = REQUEST * CODES + numbered;
    else if (numbered < 2 * CODES && head && head->num >= 0
             && head->num < CODES)
        head->num += REQUEST * CODES;
    check_match(reply);
    check_shape(script, reply);
    ilk__reply_free(reply);
    return 0;
}
