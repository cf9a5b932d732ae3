/* SPDX-License-Identifier: MIT */
/*
 * json.c -- JSON on one line, valid whatever the bytes.
 *
 * Text that is UTF-8 is written as it is, but for characters that steer a terminal, which
 * become \uNNNN. Text that is not is read as
 * Latin-1: each byte becomes the character of its number. Names and tokens,
 * which may be any bytes, come a second time in hexadecimal, and that form
 * is exact.
 */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void cli_json_begin(struct cli_json *json, const char *kind,
                    const struct cli_bytes *name)
{
    json->file = stdout;
    json->needs_comma = 0;
    cli_json_open(json, NULL, '{');
    cli_json_int(json, "schema", CLI_SCHEMA);
    cli_json_text(json, "kind", kind);
    if (name)
        cli_json_bytes(json, "name", *name);
}

void cli_json_end(struct cli_json *json)
{
    cli_json_close(json, '}');
    fputc('\n', json->file);
}

static int is_utf8(const char *data, size_t len)
{
    size_t i, n;

    for (i = 0; i < len; i += n) {
        n = cli_utf8(data + i, len - i);
        if (n == 0)
            return 0;
    }
    return 1;
}

/* A character of n bytes. */
static void put_character(FILE *file, const char *data, size_t n)
{
    uint32_t hidden = cli_hidden(data, n);

    if (*data == '"' || *data == '\\')
        fprintf(file, "\\%c", *data);
    else if (hidden >= 0x10000)
        fprintf(file, "\\u%04x\\u%04x",
                (unsigned)(0xD800 + ((hidden - 0x10000) >> 10)),
                (unsigned)(0xDC00 + ((hidden - 0x10000) & 0x3FF)));
    else if (hidden || *data == '\0')
        fprintf(file, "\\u%04x", (unsigned)hidden);
    else
        fwrite(data, 1, n, file);
}

static void put_string(FILE *file, const char *data, size_t len)
{
    int as_it_is = is_utf8(data, len);
    size_t i, n;

    fputc('"', file);
    for (i = 0; i < len; i += n) {
        n = as_it_is ? cli_utf8(data + i, len - i) : 1;
        if ((unsigned char)data[i] >= 0x80 && !as_it_is)
            fprintf(file, "\\u%04x", (unsigned)(unsigned char)data[i]);
        else
            put_character(file, data + i, n);
    }
    fputc('"', file);
}

static void put_key(struct cli_json *json, const char *key)
{
    if (json->needs_comma)
        fputc(',', json->file);
    json->needs_comma = 1;
    if (!key)
        return;
    put_string(json->file, key, strlen(key));
    fputc(':', json->file);
}

void cli_json_open(struct cli_json *json, const char *key, char bracket)
{
    put_key(json, key);
    fputc(bracket, json->file);
    json->needs_comma = 0;
}

void cli_json_close(struct cli_json *json, char bracket)
{
    fputc(bracket, json->file);
    json->needs_comma = 1;
}

void cli_json_int(struct cli_json *json, const char *key, int64_t value)
{
    put_key(json, key);
    fprintf(json->file, "%" PRId64, value);
}

/* Three places. JSON has no infinity. The decimal point is a point, because
   this program never sets a locale. */
void cli_json_real(struct cli_json *json, const char *key, double value)
{
    put_key(json, key);
    if (isfinite(value))
        fprintf(json->file, "%.3f", value);
    else
        fputs("null", json->file);
}

void cli_json_bool(struct cli_json *json, const char *key, int value)
{
    put_key(json, key);
    fputs(value ? "true" : "false", json->file);
}

void cli_json_null(struct cli_json *json, const char *key)
{
    put_key(json, key);
    fputs("null", json->file);
}

void cli_json_text(struct cli_json *json, const char *key, const char *text)
{
    put_key(json, key);
    put_string(json->file, text, strlen(text));
}

void cli_json_bytes(struct cli_json *json, const char *key,
                    struct cli_bytes bytes)
{
    size_t i;

    put_key(json, key);
    put_string(json->file, bytes.data, bytes.len);
    fprintf(json->file, ",\"%s_hex\":\"", key);
    for (i = 0; i < bytes.len; i++)
        fprintf(json->file, "%02x", (unsigned)(unsigned char)bytes.data[i]);
    fputc('"', json->file);
}
