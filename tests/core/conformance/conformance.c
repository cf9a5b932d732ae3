/* SPDX-License-Identifier: MIT */
/* conformance.c -- reading the table that every language runs. */
#include "conformance.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grown(void *array, size_t count, size_t size)
{
    void *more = realloc(array, (count + 1) * size);

    if (more == NULL)
        abort();
    return more;
}

static char *joined(const char *a, const char *between, const char *b)
{
    size_t size = strlen(a) + strlen(between) + strlen(b) + 1;
    char *text = grown(NULL, size, 1);

    snprintf(text, size, "%s%s%s", a, between, b);
    return text;
}

static int is_text_file(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot != NULL && strcmp(dot, ".txt") == 0;
}

static int read_line(conf_table *table, const char *file, int number,
                     const char *line)
{
    conf_case *last;

    if (line[0] == '\0' || line[0] == '#')
        return 0;
    if (strncmp(line, "case ", 5) == 0) {
        table->cases = grown(table->cases, table->count, sizeof *last);
        last = &table->cases[table->count++];
        memset(last, 0, sizeof *last);
        last->title = joined(file, ": ", line + 5);
        return 0;
    }
    if (table->count == 0) {
        fprintf(stderr, "%s:%d: before the first case\n", file, number);
        return -1;
    }
    last = &table->cases[table->count - 1];
    last->lines = grown(last->lines, last->count, sizeof *last->lines);
    last->lines[last->count].number = number;
    last->lines[last->count++].text = joined(line, "", "");
    return 0;
}

static int read_file(conf_table *table, const char *dir, const char *file)
{
    char *path = joined(dir, "/", file);
    FILE *in = fopen(path, "r");
    char line[4096];
    int bad = in == NULL ? -1 : 0;

    for (int number = 1; bad == 0 && fgets(line, sizeof line, in); number++) {
        char *text = line;
        char *end = line + strlen(line);

        while (end > line && isspace((unsigned char)end[-1]))
            *--end = '\0';
        while (isspace((unsigned char)*text))
            text++;
        bad = read_line(table, file, number, text);
    }
    if (in == NULL)
        perror(path);
    else
        fclose(in);
    free(path);
    return bad;
}

int conf_read(conf_table *table, const char *dir)
{
    struct dirent **files = NULL;
    int count = scandir(dir, &files, is_text_file, alphasort);
    int bad = 0;

    memset(table, 0, sizeof *table);
    if (count < 0)
        perror(dir);
    for (int i = 0; i < count; i++) {
        if (bad == 0)
            bad = read_file(table, dir, files[i]->d_name);
        free(files[i]);
    }
    free(files);
    return bad != 0 || table->count == 0 ? -1 : 0;
}

void conf_free(conf_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        conf_case *one = &table->cases[i];

        for (size_t j = 0; j < one->count; j++)
            free(one->lines[j].text);
        free(one->lines);
        free(one->title);
    }
    free(table->cases);
    memset(table, 0, sizeof *table);
}

static int add_bytes(conf_word *word, const char *bytes, size_t len)
{
    if (len >= sizeof word->text - word->len)
        return -1;
    memcpy(word->text + word->len, bytes, len);
    word->len += len;
    word->text[word->len] = '\0';
    return 0;
}

/* $x: the case's own name of that word, or a unique one. */
static int add_name(conf_word *word, const conf_names *names, const char **text)
{
    const char *start = *text + 1;
    size_t len = 0;

    while (isalnum((unsigned char)start[len]))
        len++;
    *text = start + len;
    for (size_t i = 0; i < names->count; i++) {
        const conf_name *own = &names->own[i];

        if (strlen(own->word) == len && memcmp(own->word, start, len) == 0)
            return add_bytes(word, own->value.text, own->value.len);
    }
    if (len == 0)
        return -1;
    if (add_bytes(word, names->unique, strlen(names->unique)) != 0)
        return -1;
    return add_bytes(word, start, len);
}

static int add_escape(conf_word *word, const char **text)
{
    static const char letters[] = "nrt\\\"";
    static const char bytes[] = "\n\r\t\\\"";
    const char *at = *text + 1;
    const char *letter = *at == '\0' ? NULL : strchr(letters, *at);

    if (*at == 'x' && isxdigit((unsigned char)at[1])
        && isxdigit((unsigned char)at[2])) {
        char hex[3] = {at[1], at[2], '\0'};
        char byte = (char)strtol(hex, NULL, 16);

        *text = at + 3;
        return add_bytes(word, &byte, 1);
    }
    if (letter == NULL)
        return -1;
    *text = at + 1;
    return add_bytes(word, &bytes[letter - letters], 1);
}

/* One word, up to a space or the closing quote; moves *text behind it. */
static int read_word(conf_word *word, const conf_names *names,
                     const char **text)
{
    int quoted = **text == '"';
    int bad = 0;

    word->len = 0;
    word->text[0] = '\0';
    *text += quoted;
    while (bad == 0 && **text != '\0') {
        if (quoted ? **text == '"' : isspace((unsigned char)**text))
            break;
        if (**text == '$')
            bad = add_name(word, names, text);
        else if (quoted && **text == '\\')
            bad = add_escape(word, text);
        else
            bad = add_bytes(word, (*text)++, 1);
    }
    if (quoted && bad == 0 && *(*text)++ != '"')
        bad = -1;
    return bad;
}

int conf_split(conf_word *words, const conf_names *names, const char *text)
{
    int count = 0;

    for (;;) {
        while (isspace((unsigned char)*text))
            text++;
        if (*text == '\0' || *text == '#')
            return count;
        if (count == CONFORMANCE_WORDS)
            return -1;
        if (read_word(&words[count++], names, &text) != 0)
            return -1;
    }
}

void conf_define(conf_names *names, const char *word, const conf_word *value)
{
    conf_name *own = &names->own[names->count++];

    if (names->count > sizeof names->own / sizeof names->own[0])
        abort();
    snprintf(own->word, sizeof own->word, "%s", word);
    own->value.len = 0;
    if (add_bytes(&own->value, names->unique, strlen(names->unique)) != 0
        || add_bytes(&own->value, value->text, value->len) != 0)
        abort();
}
