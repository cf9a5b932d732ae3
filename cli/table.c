/* SPDX-License-Identifier: MIT */
/* table.c -- cells in columns, as wide as their widest cell. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

void cli_table_init(struct cli_table *table, size_t columns)
{
    memset(table, 0, sizeof *table);
    table->columns = columns;
}

/* A cell that is NULL, or that finds no memory, makes printing fail. */
void cli_table_add(struct cli_table *table, char *cell)
{
    if (cell && table->count == table->room) {
        size_t room = table->room ? table->room * 2 : 64;
        char **cells = realloc(table->cells, room * sizeof *cells);

        if (cells) {
            table->cells = cells;
            table->room = room;
        }
    }
    if (!cell || table->count == table->room) {
        free(cell);
        table->failed = 1;
        return;
    }
    table->cells[table->count++] = cell;
}

void cli_table_text(struct cli_table *table, const char *text)
{
    cli_table_add(table, cli_text(text, strlen(text)));
}

/* Characters, not bytes: continuation bytes take no room. */
static size_t width(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

static size_t column_width(const struct cli_table *table, size_t column)
{
    size_t i, widest = 0;

    for (i = column; i < table->count; i += table->columns) {
        size_t w = width(table->cells[i]);

        if (w > widest)
            widest = w;
    }
    return widest;
}

static void drop_cells(struct cli_table *table)
{
    size_t i;

    for (i = 0; i < table->count; i++)
        free(table->cells[i]);
    table->count = 0;
}

int cli_table_print(struct cli_table *table, FILE *file)
{
    size_t i, column;

    if (!table->widths)
        table->widths = calloc(table->columns, sizeof *table->widths);
    if (table->failed || !table->widths) {
        cli_say("out of memory");
        return CLI_SYSTEM;
    }
    for (column = 0; column < table->columns; column++) {
        size_t needed = column_width(table, column);

        if (needed > table->widths[column])
            table->widths[column] = needed;
    }
    for (i = 0, column = 0; i < table->count; i++, column++) {
        if (column == table->columns)
            column = 0;
        fputs(table->cells[i], file);
        if (column + 1 == table->columns)
            fputc('\n', file);
        else
            fprintf(file, "%*s",
                    (int)(table->widths[column] - width(table->cells[i]) + 2),
                    "");
    }
    drop_cells(table);
    return CLI_OK;
}

void cli_table_free(struct cli_table *table)
{
    drop_cells(table);
    free(table->cells);
    free(table->widths);
    memset(table, 0, sizeof *table);
}
