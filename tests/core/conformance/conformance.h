/* SPDX-License-Identifier: MIT */
/*
 * conformance.h -- reading the table in tests/conformance that every language
 * runs.
 *
 * A file is lines of words. "..." is one word, with the escapes \xHH, \n, \r,
 * \t, \\ and \" in it. `#` outside of it begins a comment. `case <title>`
 * begins a case. $x in a word is a name that no other case and no other run
 * has; after `x = name "..."` it is that one with the bytes given behind it.
 */
#ifndef ILK__CONFORMANCE_H
#define ILK__CONFORMANCE_H

#include <stddef.h>

enum { CONFORMANCE_WORDS = 80, CONFORMANCE_WORD = 1200 };

typedef struct conf_word {
    size_t len;
    char text[CONFORMANCE_WORD]; /* NUL-terminated */
} conf_word;

typedef struct conf_line {
    int number; /* in its file */
    char *text; /* as it was written */
} conf_line;

typedef struct conf_case {
    char *title; /* "file: title" */
    conf_line *lines;
    size_t count;
} conf_case;

typedef struct conf_table {
    conf_case *cases;
    size_t count;
} conf_table;

/* A name that a case has given its own bytes. */
typedef struct conf_name {
    char word[64];
    conf_word value;
} conf_name;

/* The meaning of $x in one case. */
typedef struct conf_names {
    char unique[64]; /* of this run and case */
    conf_name own[8];
    size_t count;
} conf_names;

/* Read all files of a directory, in the order of their names; 0 or -1. */
int conf_read(conf_table *table, const char *dir);
void conf_free(conf_table *table);

/*
 * Cut a line into words and put names in. Answers their number; -1 when the
 * line cannot be read.
 */
int conf_split(conf_word *words, const conf_names *names, const char *text);

/* Let $word mean a unique name that ends with these bytes. */
void conf_define(conf_names *names, const char *word, const conf_word *value);

#endif
