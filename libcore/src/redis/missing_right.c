/* SPDX-License-Identifier: MIT */
/* missing_right.c -- names the right that a user lacks. */
#include "missing_right.h"

#include "script.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RIGHT_MAX = 120, CHANNEL_SHOWN = 80, WORD_MAX = 24, KEY_SHOWN = 48 };

/* ---- the command -------------------------------------------------------- */

static void add_command(char *out, const char *word, size_t len)
{
    size_t used = strlen(out);

    if (len == 0 || len >= WORD_MAX || used + len + 3 >= RIGHT_MAX)
        return;
    if (used)
        out[used++] = ' ';
    out[used++] = '+';
    for (size_t i = 0; i < len; i++)
        out[used + i] = (char)tolower((unsigned char)word[i]);
    out[used + len] = '\0';
}

/* The server names it: "... to run the 'set' command". */
static int named_command(char *out, const char *text)
{
    const char *at = strstr(text, "to run the '");
    const char *end;

    if (!at)
        return 0;
    at += strlen("to run the '");
    end = strchr(at, '\'');
    if (!end)
        return 0;
    add_command(out, at, (size_t)(end - at));
    return out[0] != '\0';
}

static const char *line_of(const char *script, long number)
{
    while (script && --number > 0) {
        script = strchr(script, '\n');
        script = script ? script + 1 : NULL;
    }
    return script;
}

/* Adds the commands that the first argument of a call may be: words in capitals
 * and quotes, as in `order == "fifo" and "LPUSH" or "RPUSH"`. One that is only a
 * part of the argument, as in `at .. "PUSH"`, says nothing. */
static void add_commands(char *out, const char *at, const char *end)
{
    for (; at < end && *at != ','; at++) {
        size_t len;

        if (strncmp(at, "..", 2) == 0)
            return;
        if (*at != '"')
            continue;
        len = strspn(++at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        if (len && at[len] == '"')
            add_command(out, at, len);
        at += strcspn(at, "\"\n");
    }
}

/* The commands in the line of our script at which the error was raised. */
static int command_in_line(char *out, const char *text, int script)
{
    const char *at = strstr(text, "user_script:"), *end;

    if (!at || script == ILK__SCRIPT_NONE)
        return 0;
    at = line_of(ilk__scripts[script].text,
                 strtol(at + strlen("user_script:"), NULL, 10));
    if (!at)
        return 0;
    end = at + strcspn(at, "\n");
    while ((at = strstr(at, "redis.")) != NULL && at < end) {
        at += strlen("redis.");
        at += strncmp(at, "pcall", 5) == 0 ? 5 : 4;
        if (*at == '(' || *at == ',')
            add_commands(out, at + 1, end);
    }
    return out[0] != '\0';
}

/* ---- keys and channels -------------------------------------------------- */

static void keys(char *out, const ilk__command *command, int script)
{
    size_t at = script == ILK__SCRIPT_NONE ? 1 : 3;
    int len;

    if (command->argc <= at)
        return;
    if (command->lens[at] >= 4 && memcmp(command->argv[at], "ilk:", 4) == 0) {
        snprintf(out, RIGHT_MAX, "~ilk:*");
        return;
    }
    len = command->lens[at] < KEY_SHOWN ? (int)command->lens[at] : KEY_SHOWN;
    snprintf(out, RIGHT_MAX, "~%.*s%s or ~ilk:*", len, command->argv[at],
             command->lens[at] > KEY_SHOWN ? "*" : "");
    for (char *byte = out; *byte; byte++)
        if ((unsigned char)*byte < ' ')
            *byte = '?';
}

static void channels(char *out, int script)
{
    const char *name =
        script == ILK__SCRIPT_NONE ? "" : ilk__scripts[script].name;

    snprintf(out, RIGHT_MAX, "&ilk:inbox:*%s",
             strstr(name, "signal")     ? " or &ilk:signal:*"
             : strstr(name, "redisson") ? " or &redisson_lock__channel:*"
                                        : "");
}

/* ---- the text ----------------------------------------------------------- */

static ilk_status say(const char *right, int script, ilk_error *err)
{
    char text[ILK_ERROR_MAX];

    if (!err || !right[0])
        return ILK_EAUTH;
    memcpy(text, err->msg, sizeof text);
    if (script == ILK__SCRIPT_NONE)
        return ilk__fail(err, ILK_EAUTH, "the user lacks %s; %.*s", right,
                         ILK_ERROR_MAX / 2, text);
    return ilk__fail(err, ILK_EAUTH, "the user lacks %s, for %s; %.*s", right,
                     ilk__scripts[script].name, ILK_ERROR_MAX / 2, text);
}

static int is_refusal(const char *text)
{
    return strncmp(text, "NOPERM", 6) == 0 || strstr(text, "ACL failure in")
           || strstr(text, "The user executing the script can't");
}

ilk_status ilk__missing_right(const ilk__reply *reply,
                              const ilk__command *command, int script,
                              ilk_error *err)
{
    ilk_status st = ilk__reply_error(reply, err);
    const char *text = reply->str;
    char right[RIGHT_MAX] = "";

    if (st != ILK_EAUTH || !is_refusal(text))
        return st;
    if (strstr(text, "channel"))
        channels(right, script);
    else if (strstr(text, "access"))
        keys(right, command, script);
    else if (!named_command(right, text))
        (void)command_in_line(right, text, script);
    return say(right, script, err);
}

ilk_status ilk__missing_right_to(const ilk__reply *reply, const char *channel,
                                 size_t channel_len, ilk_error *err)
{
    ilk_status st = ilk__reply_error(reply, err);
    char right[RIGHT_MAX] = "";

    if (st != ILK_EAUTH || !is_refusal(reply->str))
        return st;
    if (strstr(reply->str, "channel"))
        snprintf(
            right, sizeof right, "&%.*s",
            (int)(channel_len < CHANNEL_SHOWN ? channel_len : CHANNEL_SHOWN),
            channel);
    else
        (void)named_command(right, reply->str);
    return say(right, ILK__SCRIPT_NONE, err);
}
