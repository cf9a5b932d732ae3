/* SPDX-License-Identifier: MIT */
/*
 * fuzz_command.c -- a command made of parts of the input, read back from the
 * bytes that are sent: the server gets exactly these arguments. A call of a
 * script has the number of its request behind them, and its EVAL form differs
 * in the first two arguments only.
 */
#include "fuzz.h"

#include "redis/script.h"

enum { PARTS = 80, PART_MOST = 200 };

typedef struct parts {
    char *text[PARTS];
    size_t len[PARTS], count;
} parts;

static ilk__reply *sent(const ilk__command *command, int64_t number)
{
    struct redisReader *reader = ilk__reader_new();
    ilk__reply *reply = NULL, *more = NULL;
    ilk__buf bytes = {0};

    CHECK(reader != NULL);
    CHECK(ilk__command_format(command, number, &bytes, NULL) == ILK_OK);
    CHECK(ilk__reader_feed(reader, ilk__buf_data(&bytes), ilk__buf_len(&bytes),
                           NULL)
          == ILK_OK);
    CHECK(ilk__reader_next(reader, &reply, NULL) == ILK_OK);
    CHECK(ilk__reader_next(reader, &more, NULL) == ILK_EAGAIN);
    CHECK(reply->type == ILK__REPLY_ARRAY);
    ilk__buf_free(&bytes);
    ilk__reader_free(reader);
    return reply;
}

static void check_text(const ilk__reply *item, const char *text, size_t len)
{
    CHECK(item->type == ILK__REPLY_STR && item->len == len);
    CHECK(memcmp(item->str, text, len) == 0);
}

static void check_number(const ilk__reply *item, int64_t number)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)number);
    check_text(item, text, strlen(text));
}

static void add_parts(ilk__command *command, const parts *all)
{
    for (size_t i = 0; i < all->count; i++)
        ilk__command_add(command, all->text[i], all->len[i]);
}

static void check_plain(const parts *all, const int64_t *numbers, size_t count)
{
    ilk__command command;
    ilk__reply *reply;

    ilk__command_init(&command);
    add_parts(&command, all);
    for (size_t i = 0; i < count; i++)
        ilk__command_add_int(&command, numbers[i]);
    reply = sent(&command, 1);
    CHECK(reply->count == all->count + count);
    for (size_t i = 0; i < all->count; i++)
        check_text(reply->items[i], all->text[i], all->len[i]);
    for (size_t i = 0; i < count; i++)
        check_number(reply->items[all->count + i], numbers[i]);
    ilk__reply_free(reply);
    ilk__command_free(&command);
}

static void check_call(const ilk__command *command, int script,
                       const parts *all, int64_t number, int by_source)
{
    const ilk__script *called = &ilk__scripts[script];
    ilk__reply *reply = sent(command, number);

    CHECK(reply->count == 3 + all->count + 1);
    check_text(reply->items[0], by_source ? "EVAL" : "EVALSHA",
               by_source ? 4 : 7);
    check_text(reply->items[1], by_source ? called->text : called->sha1,
               by_source ? called->text_len : 40);
    check_number(reply->items[2], 0);
    for (size_t i = 0; i < all->count; i++)
        check_text(reply->items[3 + i], all->text[i], all->len[i]);
    check_number(reply->items[3 + all->count], number);
    ilk__reply_free(reply);
}

static void check_script(int script, const parts *all, int64_t number)
{
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, script, NULL, 0);
    add_parts(&command, all);
    check_call(&command, script, all, number, 0);
    CHECK(ilk__script_use_source(&command, script) == 1);
    check_call(&command, script, all, number, 1);
    CHECK(ilk__script_use_source(&command, script) == 0);
    ilk__command_free(&command);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    int script = (int)fuzz_pick(&in, ILK__SCRIPT_COUNT);
    size_t count = fuzz_pick(&in, ILK__COMMAND_NUMBERS + 1);
    int64_t numbers[ILK__COMMAND_NUMBERS], number = 1;
    parts all = {.count = 0};

    for (size_t i = 0; i < count; i++)
        numbers[i] = fuzz_number(&in);
    number = fuzz_number(&in) & INT64_MAX;
    while (in.left > 0 && all.count < PARTS) {
        all.text[all.count] = fuzz_text(&in, PART_MOST, &all.len[all.count]);
        all.count++;
    }
    if (all.count + count > 0)
        check_plain(&all, numbers, count);
    check_script(script, &all, number);
    for (size_t i = 0; i < all.count; i++)
        free(all.text[i]);
    return 0;
}
