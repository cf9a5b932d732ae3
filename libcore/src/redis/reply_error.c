/* SPDX-License-Identifier: MIT */
/*
 * reply_error.c -- finds the status that an error reply stands for.
 *
 * An error begins with a code in capitals, ERR if there is no better one. For
 * an error raised inside a script the servers differ:
 *
 *     Redis 7, Valkey   -OOM command not allowed ... script: <sha>, on @...
 *     Redis 6.2         -ERR Error running script (call to f_<sha>):
 *                       @user_script:1: -OOM command not allowed ...
 *
 * so in an ERR whose text contains "script", the code is also looked for after
 * each ": ".
 */
#include "reply.h"

#include <string.h>

struct meaning {
    const char *text;
    ilk_status status;
};

/* Codes with which an error begins. */
static const struct meaning words[] = {{"NOAUTH", ILK_EAUTH},
                                       {"WRONGPASS", ILK_EAUTH},
                                       {"NOPERM", ILK_EAUTH},
                                       {"DENIED", ILK_EAUTH},
                                       {"WRONGTYPE", ILK_ETYPE},
                                       {"BUSY", ILK_ESERVERBUSY},
                                       {"LOADING", ILK_ESERVERLOADING},
                                       {"READONLY", ILK_ESERVERREADONLY},
                                       {"MASTERDOWN", ILK_ESERVERREADONLY},
                                       {"NOREPLICAS", ILK_ESERVERREADONLY},
                                       {"MISCONF", ILK_ESERVERREADONLY},
                                       {"OOM", ILK_ESERVERMEMORY},
                                       {"MOVED", ILK_ECLUSTER},
                                       {"ASK", ILK_ECLUSTER},
                                       {"TRYAGAIN", ILK_ECLUSTER},
                                       {"CLUSTERDOWN", ILK_ECLUSTER},
                                       {"CROSSSLOT", ILK_ECLUSTER},
                                       {"NOQUORUM", ILK_ENOQUORUM},
                                       {"ILKINVALID", ILK_EINVAL},
                                       {"ILKDIFFERS", ILK_EDIFFERS},
                                       {"ILKDOWN", ILK_ECONN},
                                       {"UNBLOCKED", ILK_ECONN},
                                       {"ILKNONE", ILK_EUNSUPPORTED}};

/* Texts of errors that have no code of their own, only ERR. */
static const struct meaning phrases[] = {
    {"ACL failure in script", ILK_EAUTH},
    {"The user executing the script can't", ILK_EAUTH},
    {"without any password configured", ILK_EAUTH},
    {"but no password is set", ILK_EAUTH},
    {"invalid password", ILK_EAUTH},
    {"max number of clients", ILK_ECONN},
    {"a non local key", ILK_ECLUSTER},
    {"do not hash to the same slot", ILK_ECLUSTER}};

/* str is NUL-terminated; a NUL inside only ends the search early. */
static int begins_with_word(const char *str, const char *word)
{
    size_t len = strlen(word);

    return strncmp(str, word, len) == 0
           && (str[len] == ' ' || str[len] == '\0');
}

static ilk_status word_status(const char *str)
{
    size_t i;

    for (i = 0; i < sizeof words / sizeof words[0]; i++)
        if (begins_with_word(str, words[i].text))
            return words[i].status;
    return ILK_ESERVER;
}

static ilk_status phrase_status(const char *str)
{
    size_t i;

    for (i = 0; i < sizeof phrases / sizeof phrases[0]; i++)
        if (strstr(str, phrases[i].text) != NULL)
            return phrases[i].status;
    return ILK_ESERVER;
}

/* The status of a code after a ": ", with or without the protocol's '-'. */
static ilk_status wrapped_status(const char *str)
{
    ilk_status status;

    while ((str = strstr(str, ": ")) != NULL) {
        str += 2;
        status = word_status(*str == '-' ? str + 1 : str);
        if (status != ILK_ESERVER)
            return status;
    }
    return ILK_ESERVER;
}

static ilk_status line_status(const char *str)
{
    ilk_status status = word_status(str);

    if (status != ILK_ESERVER || !begins_with_word(str, "ERR"))
        return status;
    status = phrase_status(str);
    if (status == ILK_ESERVER && strstr(str, "script") != NULL)
        status = wrapped_status(str);
    return status;
}

/* The error for an unknown command repeats its arguments, which may contain a
 * password (AUTH). They are cut off. */
static int shown_length(const ilk__reply *reply)
{
    const char *args = strstr(reply->str, ", with args beginning with");

    if (args != NULL)
        return (int)(args - reply->str);
    return reply->len < ILK_ERROR_MAX ? (int)reply->len : ILK_ERROR_MAX;
}

ilk_status ilk__reply_error(const ilk__reply *reply, ilk_error *err)
{
    ilk_status status;

    if (reply->type != ILK__REPLY_ERROR)
        return ilk__fail(err, ILK_EREPLY, "the reply is of type %d, no error",
                         (int)reply->type);
    status = line_status(reply->str);
    return ilk__fail(err, status, "%sthe server says: %.*s",
                     status == ILK_ECLUSTER
                         ? "a cluster needs a redis+cluster:// URL; "
                         : "",
                     shown_length(reply), reply->str);
}

int ilk__reply_is_error(const ilk__reply *reply, const char *prefix)
{
    return reply->type == ILK__REPLY_ERROR
           && begins_with_word(reply->str, prefix);
}
