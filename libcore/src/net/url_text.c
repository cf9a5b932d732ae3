/* SPDX-License-Identifier: MIT */
/* url_text.c -- splits and decodes the text of a URL. */
#include "url_text.h"

#include "base/alloc.h"

#include <string.h>

ilk__span ilk__text_cut(ilk__span *s, char stop, int *out_found)
{
    const char *at = memchr(s->at, stop, s->len);
    ilk__span head = {s->at, at != NULL ? (size_t)(at - s->at) : s->len};
    size_t used = head.len + (at != NULL);

    s->at += used;
    s->len -= used;
    if (out_found != NULL)
        *out_found = at != NULL;
    return head;
}

int ilk__text_equals(ilk__span s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

int64_t ilk__text_number(ilk__span s, int64_t max)
{
    int64_t n = 0, digit;

    if (s.len == 0)
        return -1;
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] < '0' || s.at[i] > '9')
            return -1;
        digit = s.at[i] - '0';
        if (digit > max || n > (max - digit) / 10)
            return -1;
        n = n * 10 + digit;
    }
    return n;
}

int64_t ilk__text_duration(ilk__span s, int64_t max)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", INT64_C(60) * 1000}};
    ilk__span unit = s;
    int64_t number;

    while (unit.len && unit.at[0] >= '0' && unit.at[0] <= '9') {
        unit.at++;
        unit.len--;
    }
    s.len -= unit.len;
    number = ilk__text_number(s, max);
    if (number == 0 && unit.len == 0)
        return 0;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (ilk__text_equals(unit, units[i].name))
            return number <= max / units[i].ms ? number * units[i].ms : -1;
    return -1;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

ilk_status ilk__text_decode(char **out, ilk__span s, const char *what,
                            ilk_error *err)
{
    char *to = ilk__malloc(s.len + 1);

    *out = to;
    if (to == NULL)
        return ilk__fail(err, ILK_ENOMEM, "no memory for the URL");
    for (size_t i = 0; i < s.len; i++) {
        int high, low;

        if (s.at[i] != '%') {
            *to++ = s.at[i];
            continue;
        }
        high = i + 2 < s.len ? hex_digit(s.at[i + 1]) : -1;
        low = high >= 0 ? hex_digit(s.at[i + 2]) : -1;
        if (low < 0 || (high == 0 && low == 0)) {
            *to = '\0';
            return ilk__fail(err, ILK_EINVAL,
                             low < 0 ? "URL: a '%%' in the %s is not followed "
                                       "by two hexadecimal digits"
                                     : "URL: %%00 in the %s",
                             what);
        }
        *to++ = (char)(high * 16 + low);
        i += 2;
    }
    *to = '\0';
    return ILK_OK;
}
