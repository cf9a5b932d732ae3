/* SPDX-License-Identifier: MIT */
/* sources: cli/duration.c cli/help.c cli/json.c cli/options.c cli/text.c */
/*
 * fuzz_cli.c -- any bytes as a duration, a number, a name and a line of options
 * of the command, and as text that it prints.
 *
 * A duration that is accepted is written in milliseconds and must mean the same.
 * The forms for a terminal and as JSON give back the bytes, and neither has a
 * control character.
 */
#include "fuzz.h"

#include "../../cli/cli.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>

/* The command's own functions would write to standard error. */
static char said[2048];

void cli_be_quiet(void)
{
}

int cli_usage(const struct cli_args *args, const char *format, ...)
{
    va_list list;

    (void)args;
    va_start(list, format);
    vsnprintf(said, sizeof said, format, list);
    va_end(list);
    CHECK(said[0] != '\0');
    return CLI_USAGE;
}

/* ---- durations and numbers ---------------------------------------------- */

static void check_duration(const char *text)
{
    const int64_t digits_most = INT64_C(1000000000000);
    int64_t ms = cli_duration(text);
    char again[64];

    CHECK(ms >= -1);
    if (ms < 0)
        return;
    CHECK(strspn(text, "0123456789.dhms") == strlen(text));
    if (ms < digits_most) {
        snprintf(again, sizeof again, "%" PRId64 "ms", ms);
        CHECK(cli_duration(again) == ms);
    }
    if (ms / 1000 < digits_most) {
        snprintf(again, sizeof again, "%" PRId64 ".%03ds", ms / 1000,
                 (int)(ms % 1000));
        CHECK(cli_duration(again) == ms);
    }
}

static void check_takers(const struct cli_args *args, const char *text)
{
    char *end;
    int64_t ms, number;
    long long value = strtoll(text, &end, 10);
    int plain = *text >= '0' && *text <= '9' && *end == '\0';

    if (cli_take_lease(args, "ttl", text, &ms) == CLI_OK)
        CHECK(ms >= ILK_LEASE_MIN_MS && ms == cli_duration(text));
    if (cli_take_duration(args, "wait", text, 0, &ms) == CLI_OK)
        CHECK(ms >= 0 && ms == cli_duration(text));
    if (cli_take_number(args, "permits", text, 1, 1000, &number) == CLI_OK)
        CHECK(plain && number == value && number >= 1 && number <= 1000);
    else
        CHECK(!plain || value < 1 || value > 1000);
}

static void check_times(int64_t ms)
{
    char text[CLI_TIME_MAX], *shown = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&shown, &len);

    CHECK(file != NULL);
    cli_put_duration(file, ms);
    fclose(file);
    CHECK(len > 0);
    free(shown);
    cli_time_text(text, ms);
    CHECK(strlen(text) < CLI_TIME_MAX);
}

/* ---- names and options -------------------------------------------------- */

static void check_name(struct cli_args *args, const char *text)
{
    char *word = fuzz_copy(text, strlen(text));
    struct cli_bytes name;

    args->hex = 0;
    CHECK(cli_args_name(args, word, &name) == CLI_OK);
    CHECK(name.len == strlen(text) && memcmp(name.data, text, name.len) == 0);
    args->hex = 1;
    if (cli_args_name(args, word, &name) == CLI_OK)
        for (size_t i = 0; i < name.len; i++) {
            char digits[3];

            snprintf(digits, sizeof digits, "%02x",
                     (unsigned)(unsigned char)name.data[i]);
            CHECK(strncasecmp(digits, text + 2 * i, 2) == 0);
        }
    free(word);
}

static const struct cli_option options[] = {
    {"ttl", "TIME", "", CLI_KEY, 't'},
    {"permits", "N", "", CLI_KEY + 1, 'p'},
    {"no-renew", NULL, "", CLI_KEY + 2, 0},
    CLI_OPTION_JSON,
    CLI_OPTION_HEX,
    CLI_OPTION_QUIET,
    {"url", "URL", "", CLI_KEY_URL, 0},
    CLI_OPTION_END,
};

static const struct cli_command command = {
    .name = "fuzz", .synopsis = "NAME", .summary = "", .options = options};

/* The text as words, which are taken apart as a command line. */
static void check_options(const char *text, int in_order)
{
    enum { WORDS = 16 };
    struct cli_command mine = command;
    struct cli_args args = {.command = &mine};
    char *copy = fuzz_copy(text, strlen(text)), *at = copy;
    char program[] = "fuzz", *argv[WORDS + 2] = {program};
    const char *value = NULL;
    int key, taken = 0;

    mine.in_order = in_order;
    args.argc = 1;
    while (args.argc <= WORDS && at) {
        char *end = strchr(at, '\n');

        if (end)
            *end++ = '\0';
        argv[args.argc++] = at;
        at = end;
    }
    args.argv = argv;
    optind = 0;
    while ((key = cli_args_next(&args, &value)) > 0) {
        CHECK(key >= CLI_KEY && key <= CLI_KEY + 2);
        CHECK((value != NULL) == (key != CLI_KEY + 2));
        CHECK(++taken <= 4096);
    }
    CHECK(key == 0 || args.status == CLI_USAGE);
    while (key == 0 && cli_args_word(&args))
        CHECK(++taken <= 4096 + WORDS);
    free(copy);
}

/* ---- text --------------------------------------------------------------- */

static int hex_digit(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Undo \xNN and the doubled backslash of text.c. */
static void check_text(const char *data, size_t len)
{
    char *shown = cli_text(data, len);
    size_t at = 0;

    CHECK(shown != NULL);
    for (const char *c = shown; *c; c++, at++) {
        char byte = *c;

        CHECK((unsigned char)*c >= 0x20 && *c != 0x7f && at < len);
        if (*c == '\\' && c[1] == 'x') {
            byte = (char)(hex_digit(c[2]) * 16 + hex_digit(c[3]));
            c += 3;
        } else if (*c == '\\') {
            CHECK(*++c == '\\');
        }
        CHECK(byte == data[at]);
    }
    CHECK(at == len);
    free(shown);
}

static unsigned json_code(const char **at)
{
    unsigned code = 0;

    CHECK((*at)[0] == '\\' && (*at)[1] == 'u');
    for (int i = 2; i < 6; i++)
        code = code * 16 + (unsigned)hex_digit((*at)[i]);
    *at += 6;
    return code;
}

static size_t put_utf8(char *out, unsigned code)
{
    const int more = (code >= 0x80) + (code >= 0x800) + (code >= 0x10000);
    static const unsigned char begins[] = {0, 0xC0, 0xE0, 0xF0};

    for (int i = more; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(begins[more] | code);
    return (size_t)more + 1;
}

/* The bytes that an escape or a byte of JSON stands for: of UTF-8, or of Latin-1 where
 * the whole is no UTF-8. */
static size_t json_bytes(const char **at, int is_utf8, char out[4])
{
    unsigned code;

    CHECK(**at != '"');
    if (**at != '\\') {
        *out = *(*at)++;
        return 1;
    }
    if ((*at)[1] != 'u') {
        *out = (*at)[1];
        *at += 2;
        return 1;
    }
    code = json_code(at);
    if (code >= 0xD800 && code < 0xDC00)
        code = 0x10000 + ((code - 0xD800) << 10) + (json_code(at) - 0xDC00);
    if (is_utf8)
        return put_utf8(out, code);
    CHECK(code < 0x100);
    *out = (char)code;
    return 1;
}

static int is_utf8(const char *data, size_t len)
{
    size_t n = 1;

    for (size_t i = 0; i < len && n; i += n)
        n = cli_utf8(data + i, len - i);
    return n > 0;
}

/* {"name":"...","name_hex":"..."}: both are the bytes. */
static void check_json(const char *data, size_t len)
{
    const int whole = is_utf8(data, len);
    char *out = NULL, digits[3], part[4];
    size_t out_len = 0, n;
    struct cli_json json = {.file = open_memstream(&out, &out_len)};
    const char *at;

    CHECK(json.file != NULL);
    cli_json_open(&json, NULL, '{');
    cli_json_bytes(&json, "name", (struct cli_bytes){data, len});
    cli_json_close(&json, '}');
    fclose(json.file);
    for (size_t i = 0; i < out_len; i++)
        CHECK((unsigned char)out[i] >= 0x20 && out[i] != 0x7f);
    CHECK(strncmp(out, "{\"name\":\"", 9) == 0);
    at = out + 9;
    for (size_t i = 0; i < len; i += n) {
        n = json_bytes(&at, whole, part);
        CHECK(n <= len - i && memcmp(part, data + i, n) == 0);
    }
    CHECK(strncmp(at, "\",\"name_hex\":\"", 14) == 0);
    at += 14;
    for (size_t i = 0; i < len; i++, at += 2) {
        snprintf(digits, sizeof digits, "%02x", (unsigned)(uint8_t)data[i]);
        CHECK(strncmp(at, digits, 2) == 0);
    }
    CHECK(strcmp(at, "\"}") == 0);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size);
    struct cli_args args = {.command = &command};
    fuzz_input in = {data, size};

    check_duration(text);
    check_takers(&args, text);
    check_times(fuzz_number(&in));
    check_name(&args, text);
    check_options(text, 0);
    check_options(text, 1);
    check_text(text, size);
    check_json(text, size);
    free(text);
    return 0;
}
