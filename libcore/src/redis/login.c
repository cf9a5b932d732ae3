/* SPDX-License-Identifier: MIT */
/* login.c -- the first commands on a new connection, without I/O. */
#include "login.h"
#include "base/log.h"
#include "command.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HELLO = 'h',
    AUTH = 'a',
    SETNAME = 'n',
    CLIENT_ID = 'i',
    SELECT = 's',
    LIST = 'l',
    KILL = 'k'
};

/* Servers accept names made of '!' to '~' only. */
static void copy_name(char *out, const char *name)
{
    size_t i;

    snprintf(out, ILK__LOGIN_NAME, "%s", name != NULL ? name : "");
    for (i = 0; out[i] != '\0'; i++)
        if (out[i] < '!' || out[i] > '~')
            out[i] = '-';
}

static int has_secret(const ilk__url *url)
{
    return url->user != NULL || url->password != NULL;
}

static const char *password_of(const ilk__url *url)
{
    return url->password != NULL ? url->password : "";
}

static void build_hello(const ilk__login *login, ilk__command *command)
{
    const ilk__url *url = login->url;

    ilk__command_add_str(command, "HELLO");
    ilk__command_add_str(command, "3");
    if (has_secret(url)) {
        ilk__command_add_str(command, "AUTH");
        ilk__command_add_str(command,
                             url->user != NULL ? url->user : "default");
        ilk__command_add_str(command, password_of(url));
    }
    if (login->name[0] != '\0') {
        ilk__command_add_str(command, "SETNAME");
        ilk__command_add_str(command, login->name);
    }
}

static void build(const ilk__login *login, char what, ilk__command *command)
{
    const ilk__url *url = login->url;

    switch (what) {
    case HELLO: build_hello(login, command); break;
    case AUTH:
        ilk__command_add_str(command, "AUTH");
        if (url->user != NULL)
            ilk__command_add_str(command, url->user);
        ilk__command_add_str(command, password_of(url));
        break;
    case SETNAME:
        ilk__command_add_str(command, "CLIENT");
        ilk__command_add_str(command, "SETNAME");
        ilk__command_add_str(command, login->name);
        break;
    case CLIENT_ID:
        ilk__command_add_str(command, "CLIENT");
        ilk__command_add_str(command, "ID");
        break;
    case LIST:
    case KILL:
        ilk__command_add_str(command, "CLIENT");
        ilk__command_add_str(command, what == LIST ? "LIST" : "KILL");
        ilk__command_add_str(command, "ID");
        ilk__command_add_int(command, login->replaces.id);
        if (what == LIST && login->identity.id != 0)
            ilk__command_add_int(command, login->identity.id);
        break;
    default:
        ilk__command_add_str(command, "SELECT");
        ilk__command_add_int(command, url->db);
        break;
    }
}

static ilk_status add_command(ilk__login *login, char what, ilk__buf *out,
                              ilk_error *err)
{
    ilk__command command;
    ilk_status status;

    ilk__command_init(&command);
    build(login, what, &command);
    status = ilk__command_format(&command, 0, out, err);
    ilk__command_free(&command);
    login->sent[login->sent_count++] = what;
    return status;
}

static ilk_status start_round(ilk__login *login, int hello, ilk__buf *out,
                              ilk_error *err)
{
    ilk_status status = ILK_OK;

    login->sent_count = login->answered = 0;
    login->fall_back = 0;
    login->protocol = hello ? 3 : 2;
    if (hello)
        status = add_command(login, HELLO, out, err);
    if (!hello && has_secret(login->url))
        status = add_command(login, AUTH, out, err);
    /* Sent with an empty name as well, which servers accept. */
    if (status == ILK_OK && !hello)
        status = add_command(login, SETNAME, out, err);
    if (status == ILK_OK && !hello)
        status = add_command(login, CLIENT_ID, out, err);
    if (status == ILK_OK && login->url->db != 0)
        status = add_command(login, SELECT, out, err);
    if (status == ILK_OK)
        status = add_command(login, CLIENT_ID, out, err);
    return status;
}

ilk_status ilk__login_start(ilk__login *login, const ilk__url *url,
                            const char *name,
                            const ilk__conn_identity *replaces, ilk__buf *out,
                            ilk_error *err)
{
    memset(login, 0, sizeof *login);
    login->url = url;
    if (replaces)
        login->replaces = *replaces;
    login->left_open = login->replaces.since != 0;
    copy_name(login->name, name);
    return start_round(login, url->protocol != 2, out, err);
}

static ilk_status distrust(ilk_error *err)
{
    return ilk__fail(err, ILK_ECONN,
                     "the login got a reply that belongs to no request");
}

/* Several replies contain our client id: it must be the same in all. */
static ilk_status read_number(ilk__login *login, const ilk__reply *reply,
                              ilk_error *err)
{
    if (reply->type != ILK__REPLY_INT || reply->num <= 0
        || (login->identity.id != 0 && login->identity.id != reply->num))
        return distrust(err);
    login->identity.id = reply->num;
    return ILK_OK;
}

/* Find the protocol in use and our client id among HELLO's pairs. */
static ilk_status read_hello(ilk__login *login, const ilk__reply *reply,
                             ilk_error *err)
{
    const ilk__reply *value;
    size_t i;

    if (reply->type != ILK__REPLY_ARRAY)
        return ilk__fail(err, ILK_EREPLY,
                         "an unexpected reply to HELLO, of type %d",
                         (int)reply->type);
    for (i = 0; i + 1 < reply->count; i += 2) {
        value = reply->items[i + 1];
        if (ilk__reply_is_text(reply->items[i], "proto")
            && value->type == ILK__REPLY_INT)
            login->protocol = value->num == 3 ? 3 : 2;
        if (ilk__reply_is_text(reply->items[i], "id")
            && value->type == ILK__REPLY_INT && value->num > 0)
            login->identity.id = value->num;
    }
    return ILK_OK;
}

/* HELLO failed in a way that RESP2 avoids: Redis before 6 has no HELLO, later
 * servers may lack RESP3, and an ACL or a proxy may refuse the command. */
static int knows_no_hello(const ilk__reply *reply)
{
    return ilk__reply_is_error(reply, "NOPROTO")
           || ilk__reply_is_error(reply, "NOPERM")
           || strstr(reply->str, "unknown command") != NULL
           || strstr(reply->str, "Unknown command") != NULL;
}

/* ---- the connection that this one replaces ------------------------------ */

/* The line of CLIENT LIST that begins "id=<id> "; NULL when there is none. */
static const char *line_of(const ilk__reply *reply, int64_t id)
{
    const char *line = reply->str;
    char wanted[32];

    snprintf(wanted, sizeof wanted, "id=%" PRId64, id);
    while (line != NULL && *line != '\0') {
        size_t len = strlen(wanted);

        if (strncmp(line, wanted, len) == 0 && strchr(" \n", line[len]) != NULL)
            return line;
        line = strchr(line, '\n');
        if (line != NULL)
            line++;
    }
    return NULL;
}

/* The value of " <key>=" in a line of CLIENT LIST, up to a space. */
static const char *field_of(const char *line, const char *key, size_t *out_len)
{
    const char *end = line + strcspn(line, "\n");
    char wanted[16];
    const char *at;

    snprintf(wanted, sizeof wanted, " %s=", key);
    at = strstr(line, wanted);
    if (at == NULL || at >= end)
        return NULL;
    at += strlen(wanted);
    *out_len = strcspn(at, " \n");
    return at;
}

/*
 * Decide from CLIENT LIST whether the broken connection is still open. A
 * connection with its id that is younger was opened on a server that has been
 * restarted since. The server counts ages in whole seconds, by a clock that may
 * lag by one second. It is the wall clock: if that was set back meanwhile, an open
 * connection is taken for a younger one.
 */
static ilk__broken_conn judge_list(const ilk__login *login,
                                   const ilk__reply *reply)
{
    enum { AGE_SLACK_S = 2 };
    size_t name_len, age_len;
    const char *line, *name, *age;

    line = line_of(reply, login->replaces.id);
    if (line == NULL)
        return ILK__BROKEN_CLOSED;
    name = field_of(line, "name", &name_len);
    age = field_of(line, "age", &age_len);
    if (name == NULL || age == NULL)
        return ILK__BROKEN_UNSURE;
    if (strtoll(age, NULL, 10) + AGE_SLACK_S
        < (login->now - login->replaces.since) / 1000)
        return ILK__BROKEN_CLOSED;
    return name_len == strlen(login->name)
                   && memcmp(name, login->name, name_len) == 0
               ? ILK__BROKEN_OPEN
               : ILK__BROKEN_UNSURE;
}

/* In a list of other connections than the requested ones our own line is
 * missing. */
static ilk_status read_list(ilk__login *login, const ilk__reply *reply,
                            ilk_error *err)
{
    if (reply->type != ILK__REPLY_STR
        || (login->identity.id != 0
            && line_of(reply, login->identity.id) == NULL))
        return distrust(err);
    login->broken = judge_list(login, reply);
    if (login->broken == ILK__BROKEN_CLOSED)
        login->left_open = 0;
    return ILK_OK;
}

static void warn_once(const ilk__reply *reply)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&warned))
        ilk__log(ILK__LOG_WARN,
                 "a connection that broke cannot be closed on the server, so "
                 "its last commands may be executed late: %.150s",
                 reply->str);
}

/* Begin round 3 or 4, if needed, after the last reply of a round. */
static ilk_status add_next(ilk__login *login, ilk__buf *out, ilk_error *err)
{
    int begins = login->sent[0] != LIST && login->sent[0] != KILL;
    ilk_status status = ILK_OK;
    int kills = login->sent[0] == LIST && login->broken == ILK__BROKEN_OPEN;

    if (login->replaces.id == login->identity.id && login->identity.id != 0) {
        login->left_open = 0; /* the server has been restarted */
        return ILK_OK;
    }
    if (!kills
        && (!begins || login->replaces.id == 0 || login->name[0] == '\0'))
        return ILK_OK;
    login->sent_count = login->answered = 0;
    login->broken = ILK__BROKEN_UNSURE;
    if (kills)
        status = add_command(login, KILL, out, err);
    if (status == ILK_OK)
        status = add_command(login, LIST, out, err);
    if (status == ILK_OK)
        status = add_command(login, CLIENT_ID, out, err);
    return status == ILK_OK ? ILK_EAGAIN : status;
}

/* ---- replies ------------------------------------------------------------ */

static ilk_status judge_error(ilk__login *login, char what,
                              const ilk__reply *reply, ilk_error *err)
{
    if (what == LIST || what == KILL)
        warn_once(reply);
    if (what == LIST || what == KILL || what == CLIENT_ID)
        return ILK_OK;
    if (what == HELLO && knows_no_hello(reply)) {
        login->fall_back = 1;
        return ILK_OK;
    }
    if (login->fall_back) /* the SELECT of round 1 */
        return ILK_OK;
    if (what == SETNAME && !ilk__reply_is_error(reply, "NOAUTH")
        && strstr(reply->str, "max number of clients") == NULL)
        return ILK_OK;
    return ilk__reply_error(reply, err);
}

/* Process one command's reply. ILK_OK: it succeeded, or its failure does not
 * matter. */
static ilk_status judge(ilk__login *login, char what, const ilk__reply *reply,
                        ilk_error *err)
{
    if (reply->type == ILK__REPLY_ERROR)
        return judge_error(login, what, reply, err);
    switch (what) {
    case HELLO: return read_hello(login, reply, err);
    case CLIENT_ID: return read_number(login, reply, err);
    case LIST: return read_list(login, reply, err);
    case KILL: return reply->type == ILK__REPLY_INT ? ILK_OK : distrust(err);
    default: return ilk__reply_is_text(reply, "OK") ? ILK_OK : distrust(err);
    }
}

ilk_status ilk__login_reply(ilk__login *login, const ilk__reply *reply,
                            ilk__buf *out, ilk_error *err)
{
    ilk_status status;
    char what;

    if (reply->type == ILK__REPLY_PUSH)
        return ILK_EAGAIN;
    what = login->sent[login->answered++];
    status = judge(login, what, reply, err);
    if (status != ILK_OK || login->answered < login->sent_count)
        return status != ILK_OK ? status : ILK_EAGAIN;
    if (!login->fall_back)
        return add_next(login, out, err);
    status = start_round(login, 0, out, err);
    return status == ILK_OK ? ILK_EAGAIN : status;
}
