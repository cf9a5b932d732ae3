/* SPDX-License-Identifier: MIT */
/* help.c -- help texts from the tables, and guesses at what was meant. */
#include "cli.h"

#include <string.h>

enum { WIDTH = 29, WORD_MAX = 31 };

static void put_option(FILE *file, const struct cli_option *option)
{
    int n = option->letter ? fprintf(file, "  -%c, ", option->letter)
                           : fprintf(file, "      ");

    n += fprintf(file, "--%s", option->name);
    if (option->arg)
        n += fprintf(file, " %s", option->arg);
    fprintf(file, "%*s%s\n", n < WIDTH ? WIDTH - n : 1, "", option->help);
}

void cli_help(FILE *file, const struct cli_command *command)
{
    const struct cli_option *option;

    fputs("usage: interlock ", file);
    if (command->name)
        fprintf(file, "%s ", command->name);
    fprintf(file, "[OPTION...]%s%s\n\n%s\n", command->synopsis[0] ? " " : "",
            command->synopsis, command->summary);
    if (command->about)
        fprintf(file, "\n%s", command->about);
    fputs("\noptions:\n", file);
    for (option = command->options; option->name; option++)
        put_option(file, option);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters to insert, delete or change; words are cut. */
static size_t distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1];
    size_t a_len = least(strcspn(a, "="), WORD_MAX);
    size_t b_len = least(strlen(b), WORD_MAX);
    size_t i, j;

    for (j = 0; j <= b_len; j++)
        row[j] = j;
    for (i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (j = 1; j <= b_len; j++) {
            size_t above = row[j];
            size_t changed = diagonal + (a[i - 1] != b[j - 1]);

            row[j] = least(changed, least(above, row[j - 1]) + 1);
            diagonal = above;
        }
    }
    return row[b_len];
}

const char *cli_nearest(const char *word, const char *(*candidate)(size_t i))
{
    const char *name, *best = NULL;
    size_t i, d, best_distance = 3; /* further away is no hint any more */

    for (i = 0; (name = candidate(i)) != NULL; i++) {
        d = distance(word, name);
        if (d < best_distance && d < strlen(name)) {
            best_distance = d;
            best = name;
        }
    }
    return best;
}
