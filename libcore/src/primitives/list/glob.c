/* SPDX-License-Identifier: MIT */
/*
 * glob.c -- patterns as Redis' KEYS takes them.
 *
 * After a mismatch the last `*` takes one byte more. Earlier ones need not be
 * tried again, so the time is at most the product of the two lengths.
 */
#include "glob.h"

typedef struct span {
    const char *at, *end;
} span;

/* One byte of a class: taken literally after a backslash. */
static unsigned char next_byte(span *pattern)
{
    if (*pattern->at == '\\' && pattern->end - pattern->at >= 2)
        pattern->at++;
    return (unsigned char)*pattern->at++;
}

/* The pattern is behind a '['. */
static int class_matches(span *pattern, unsigned char c)
{
    int negated = pattern->at < pattern->end && *pattern->at == '^';
    int found = 0;

    pattern->at += negated;
    while (pattern->at < pattern->end && *pattern->at != ']') {
        int is_range = *pattern->at != '\\' && pattern->end - pattern->at >= 3
                       && pattern->at[1] == '-';
        unsigned char first = next_byte(pattern), last = first;

        if (is_range) {
            last = (unsigned char)pattern->at[1];
            pattern->at += 2;
        }
        if (first > last)
            found |= c >= last && c <= first;
        else
            found |= c >= first && c <= last;
    }
    if (pattern->at < pattern->end)
        pattern->at++; /* the ']' */
    return found != negated;
}

/* Match one byte against the next element of the pattern, which is no '*', and
 * move past it. */
static int one_matches(span *pattern, unsigned char c)
{
    if (*pattern->at == '?') {
        pattern->at++;
        return 1;
    }
    if (*pattern->at == '[') {
        pattern->at++;
        return class_matches(pattern, c);
    }
    return next_byte(pattern) == c;
}

int ilk__glob_matches(const char *pattern, size_t pattern_len, const char *text,
                      size_t text_len)
{
    span rest = {pattern, pattern + pattern_len}, star = {0};
    const char *text_end = text + text_len, *starred = NULL;

    while (text < text_end) {
        if (rest.at < rest.end && *rest.at == '*') {
            rest.at++;
            star = rest;
            starred = text;
        } else if (rest.at < rest.end
                   && one_matches(&rest, (unsigned char)*text)) {
            text++;
        } else if (starred) {
            rest = star;
            text = ++starred;
        } else {
            return 0;
        }
    }
    while (rest.at < rest.end && *rest.at == '*')
        rest.at++;
    return rest.at == rest.end;
}
