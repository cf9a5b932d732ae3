/* SPDX-License-Identifier: MIT */
/* duration.c -- times and numbers as people write them. */
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *name;
    int64_t ms;
} units[] = {
    {"", 1000},   {"s", 1000},    {"ms", 1},
    {"m", 60000}, {"h", 3600000}, {"d", 86400000},
};

/* Milliseconds of a unit; 0 for an unknown one. */
static int64_t unit_ms(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].name, name) == 0)
            return units[i].ms;
    }
    return 0;
}

/* Digits become a number; -1 when there are none or too many. */
static int64_t digits(const char **text)
{
    int64_t value = 0;
    const char *at = *text;

    if (*at < '0' || *at > '9')
        return -1;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (value > 100000000000) /* times a day still fits */
            return -1;
        value = value * 10 + (*at - '0');
    }
    *text = at;
    return value;
}

/* Thousandths after a point: ".25" is 250; further digits are dropped. */
static int64_t thousandths(const char **text)
{
    const char *at = *text + 1;
    int64_t value = 0, weight = 100;

    if (*at < '0' || *at > '9')
        return -1;
    for (; *at >= '0' && *at <= '9'; at++) {
        value += weight * (*at - '0');
        weight /= 10;
    }
    *text = at;
    return value;
}

int64_t cli_duration(const char *text)
{
    int64_t whole = digits(&text);
    int64_t part = 0, unit;

    if (whole < 0)
        return -1;
    if (*text == '.')
        part = thousandths(&text);
    unit = unit_ms(text);
    if (part < 0 || unit == 0 || whole > INT64_MAX / 2 / unit)
        return -1;
    return whole * unit + part * unit / 1000;
}

int cli_take_duration(const struct cli_args *args, const char *option,
                      const char *value, int64_t least, int64_t *out_ms)
{
    *out_ms = cli_duration(value);
    if (*out_ms < 0)
        return cli_usage(args, "--%s: '%s' is no time; write 10s, 250ms or 2m",
                         option, value);
    if (*out_ms < least)
        return cli_usage(args, "--%s must be positive, got '%s'", option,
                         value);
    return CLI_OK;
}

int cli_take_lease(const struct cli_args *args, const char *option,
                   const char *value, int64_t *out_ms)
{
    int status = cli_take_duration(args, option, value, 1, out_ms);

    if (status == CLI_OK && *out_ms < ILK_LEASE_MIN_MS)
        return cli_usage(args,
                         "--%s: a lease of '%s' is too short; the least is "
                         "%dms, and a minute is '1m'",
                         option, value, ILK_LEASE_MIN_MS);
    return status;
}

int cli_take_number(const struct cli_args *args, const char *option,
                    const char *value, int64_t least, int64_t most,
                    int64_t *out)
{
    const char *at = value;

    *out = digits(&at);
    if (*out >= least && *out <= most && *at == '\0')
        return CLI_OK;
    return cli_usage(
        args, "--%s must be a number from %" PRId64 " to %" PRId64 ", got '%s'",
        option, least, most, value);
}

void cli_put_duration(FILE *file, int64_t ms)
{
    if (ms < 1000)
        fprintf(file, "%" PRId64 " ms", ms);
    else if (ms < 60000)
        fprintf(file, "%" PRId64 ".%" PRId64 " s", ms / 1000, ms % 1000 / 100);
    else if (ms < 3600000)
        fprintf(file, "%" PRId64 " m %02" PRId64 " s", ms / 60000,
                ms / 1000 % 60);
    else
        fprintf(file, "%" PRId64 " h %02" PRId64 " m", ms / 3600000,
                ms / 60000 % 60);
}

void cli_time_text(char out[CLI_TIME_MAX], int64_t since_ms)
{
    time_t seconds = (time_t)(since_ms / 1000);
    struct tm utc;
    char text[CLI_TIME_MAX - 10];

    out[0] = '\0';
    if (since_ms <= 0 || !gmtime_r(&seconds, &utc))
        return;
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc);
    snprintf(out, CLI_TIME_MAX, "%s.%03d UTC", text, (int)(since_ms % 1000));
}
