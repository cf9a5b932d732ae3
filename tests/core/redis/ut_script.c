/* SPDX-License-Identifier: MIT */
/* ut_script.c -- calls of scripts, and the shapes of their answers. */
/* link: -Wl,--wrap=ilk__now_ms -Wl,--wrap=ilk__deadline */
#include "op_case.h"
#include "redis/expected_reply.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

AROUND_EACH(op_case_setup, op_case_teardown);

/* An answer of this shape: 'i' a number, 's' bytes, '+' a line, which no script has,
 * 'n' nil, 'a' an array. */
static const ilk__reply *answer(int code, const char *types)
{
    char text[512];
    size_t used = (size_t)snprintf(text, sizeof text, "*%zu\r\n:%d\r\n",
                                   strlen(types) + 1, code);

    for (; *types; types++) {
        const char *item = *types == 'i'   ? ":7\r\n"
                           : *types == 's' ? "$1\r\nx\r\n"
                           : *types == '+' ? "+1\r\n"
                           : *types == 'n' ? "$-1\r\n"
                                           : "*1\r\n:7\r\n";

        used += (size_t)snprintf(text + used, sizeof text - used, "%s", item);
    }
    return op_case_reply(text);
}

static const ilk__reply *code_alone(int code)
{
    char text[32];

    snprintf(text, sizeof text, ":%d\r\n", code);
    return op_case_reply(text);
}

/* The types that the declaration stands for, with some more where it is open. */
static void expand(char *out, const char *types)
{
    size_t len = strcspn(types, "*");

    memcpy(out, types, len);
    snprintf(out + len, 8, "%s", types[len] ? "sia" : "");
}

/* Whether this shape is declared for the code. A code may have two shapes, of which one
 * is the other with elements more. */
static int has_shape(int script, int code, const char *types)
{
    const ilk__script *declared = &ilk__scripts[script];

    for (size_t i = 0; i < declared->shape_count; i++)
        if (declared->shapes[i].code == code
            && strcmp(declared->shapes[i].types, types) == 0)
            return 1;
    return 0;
}

static void assert_refused(int script, const ilk__reply *reply)
{
    ilk_error err = {0};

    assert_int_equal(ilk__script_check(script, reply, &err), ILK_EREPLY);
    assert_int_equal(err.code, ILK_EREPLY);
    assert_non_null(strstr(err.msg, ilk__scripts[script].name));
}

/* Each element of another type, one element less, one more. */
static void assert_mutations_refused(int script, const ilk__shape *shape)
{
    size_t fixed = strcspn(shape->types, "*");
    int open = shape->types[fixed] != '\0';
    char types[64];

    for (size_t i = 0; i < fixed; i++)
        for (const char *other = "is+na"; *other; other++) {
            expand(types, shape->types);
            if (types[i] == *other)
                continue;
            types[i] = *other;
            assert_refused(script, answer(shape->code, types));
        }
    expand(types, shape->types);
    for (size_t len = 0; len < fixed; len++) {
        types[len] = '\0';
        if (!has_shape(script, shape->code, types))
            assert_refused(script, answer(shape->code, types));
        expand(types, shape->types);
    }
    if (!open) {
        types[fixed] = 'i';
        types[fixed + 1] = '\0';
        if (!has_shape(script, shape->code, types))
            assert_refused(script, answer(shape->code, types));
    }
}

TEST(every_declared_answer_is_accepted)
{
    char types[64];

    for (int script = 0; script < ILK__SCRIPT_COUNT; script++) {
        const ilk__script *declared = &ilk__scripts[script];

        assert_true(declared->shape_count > 0);
        for (size_t i = 0; i < declared->shape_count; i++) {
            const ilk__reply *reply;

            expand(types, declared->shapes[i].types);
            reply = answer(declared->shapes[i].code, types);
            assert_int_equal(ilk__script_check(script, reply, NULL), ILK_OK);
            assert_int_equal(ilk__script_code(reply), declared->shapes[i].code);
            if (declared->shapes[i].types[0])
                continue;
            reply = code_alone(declared->shapes[i].code);
            assert_int_equal(ilk__script_check(script, reply, NULL), ILK_OK);
        }
    }
}

TEST(every_mutation_of_them_is_refused)
{
    for (int script = 0; script < ILK__SCRIPT_COUNT; script++)
        for (size_t i = 0; i < ilk__scripts[script].shape_count; i++) {
            assert_mutations_refused(script, &ilk__scripts[script].shapes[i]);
            (void)op_case_teardown();
        }
}

static int is_declared(int script, int code)
{
    for (size_t i = 0; i < ilk__scripts[script].shape_count; i++)
        if (ilk__scripts[script].shapes[i].code == code)
            return 1;
    return 0;
}

TEST(other_codes_and_other_things_are_refused)
{
    static const char *const others[] = {"+OK\r\n",
                                         "$-1\r\n",
                                         "*0\r\n",
                                         "*-1\r\n",
                                         "$1\r\n1\r\n",
                                         "*1\r\n$1\r\n1\r\n",
                                         "*1\r\n*1\r\n:1\r\n",
                                         "_\r\n"};

    for (int script = 0; script < ILK__SCRIPT_COUNT; script++) {
        for (int code = -1; code < ILK__CODE_LIMIT; code++)
            if (!is_declared(script, code))
                assert_refused(script, answer(code, ""));
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            assert_refused(script, op_case_reply(others[i]));
        (void)op_case_teardown();
    }
}

TEST(a_code_without_elements_may_be_all)
{
    const ilk__reply *reply = code_alone(ILK__CODE_RELEASED);

    assert_int_equal(ilk__script_check(ILK__SCRIPT_LOCK_RELEASE, reply, NULL),
                     ILK_OK);
    assert_int_equal(ilk__script_code(reply), ILK__CODE_RELEASED);
    assert_int_equal(ilk__script_int(reply, 1), 0);
    for (int script = 0; script < ILK__SCRIPT_COUNT; script++) {
        for (int code = -1; code < ILK__CODE_LIMIT; code++)
            if (!has_shape(script, code, ""))
                assert_refused(script, code_alone(code));
        (void)op_case_teardown();
    }
}

TEST(elements_are_counted_behind_the_code)
{
    const ilk__reply *reply;

    reply = op_case_reply("*3\r\n:1\r\n:42\r\n$3\r\nabc\r\n");

    assert_int_equal(ilk__script_code(reply), 1);
    assert_int_equal(ilk__script_int(reply, 0), 42);
    assert_string_equal(ilk__script_item(reply, 1)->str, "abc");
    assert_int_equal(ilk__script_int(reply, 2), 0);
}

/* ---- the command --------------------------------------------------------- */

TEST(a_call_names_the_script_and_in_full_shows_it)
{
    const ilk__script *script = &ilk__scripts[ILK__SCRIPT_LOCK_EXTEND];
    static char lock[] = "orders", fence[] = "f\0nce";
    const ilk__bytes keys[] = {{.data = lock, .len = 6},
                               {.data = fence, .len = 5}};
    ilk__command command;

    ilk__command_init(&command);
    ilk__script_begin(&command, ILK__SCRIPT_LOCK_EXTEND, keys, 2);

    assert_string_equal(command.argv[0], "EVALSHA");
    assert_string_equal(command.argv[1], script->sha1);
    assert_int_equal(command.lens[2], 1);
    assert_int_equal(*command.argv[2], '2');
    assert_int_equal(ilk__script_use_source(&command, ILK__SCRIPT_LOCK_EXTEND),
                     1);
    assert_int_equal(command.argc, 5);
    assert_int_equal(command.lens[0], 4);
    assert_string_equal(command.argv[0], "EVAL");
    assert_int_equal(command.lens[1], script->text_len);
    assert_ptr_equal(command.argv[1], script->text);
    assert_int_equal(command.lens[3], 6);
    assert_memory_equal(command.argv[3], "orders", 6);
    assert_int_equal(command.lens[4], 5);
    assert_memory_equal(command.argv[4], "f\0nce", 5);
    assert_int_equal(ilk__script_use_source(&command, ILK__SCRIPT_LOCK_EXTEND),
                     0);
    ilk__command_free(&command);
}

/* A server may send any number, and callers calculate with it. */
TEST(numbers_are_limited_to_those_of_scripts)
{
    const struct {
        int64_t sent, got;
    } cases[] = {
        {0, 0},
        {-1, -1},
        {ILK__SCRIPT_INT_MAX - 1, ILK__SCRIPT_INT_MAX - 1},
        {INT64_MAX, ILK__SCRIPT_INT_MAX},
        {INT64_MIN, -ILK__SCRIPT_INT_MAX},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ilk__reply code = {.type = ILK__REPLY_INT};
        ilk__reply number = {.type = ILK__REPLY_INT, .num = cases[i].sent};
        ilk__reply *items[] = {&code, &number};
        ilk__reply reply = {
            .type = ILK__REPLY_ARRAY, .items = items, .count = 2};

        assert_int_equal(ilk__script_int(&reply, 0), cases[i].got);
    }
}

TEST(every_script_has_a_digest_of_its_own)
{
    for (int i = 0; i < ILK__SCRIPT_COUNT; i++) {
        assert_int_equal(strlen(ilk__scripts[i].sha1), 40);
        assert_int_equal(strlen(ilk__scripts[i].text),
                         ilk__scripts[i].text_len);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(ilk__scripts[i].sha1, ilk__scripts[k].sha1);
    }
}
