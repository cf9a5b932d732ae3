/* SPDX-License-Identifier: MIT */
/* sentinel.c -- asks sentinels for the address of a service's primary. */
#include "sentinel.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "command.h"
#include "conn.h"
#include "net/url_sentinels.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum {
    SENTINEL_MS = 1000, /* for each one when there is no deadline */
    HOST_ROOM = 256,
    NEW_AT_ONCE = 16, /* new addresses, and then one in NEW_EACH_MS */
    NEW_EACH_MS = 10000
};

struct ilk__sentinel_search {
    const ilk__target *target;
    const ilk__url_sentinels *sentinels;
    ilk__url url; /* of the current sentinel */
    ilk__target to;
    unsigned sentinel; /* its number; the next one's between two searches */
    size_t tried;      /* in this search, the current one included */
    ilk__conn *conn;   /* to it, or NULL */
    ilk__buf out;      /* the question, as far as it is not sent */
    int asked;
    int distrusted; /* begin with `sentinel`, not with the last to answer */
    size_t refused; /* those that refused the login */
    int64_t until;  /* the end of its share of the time */
    char reasons[ILK_ERROR_MAX];
    char host[HOST_ROOM];
    int port;
};

/* ---- for all connections ------------------------------------------------ */

uint64_t ilk__server_hash(const char *host, int port)
{
    uint64_t hash = ilk__hash(ILK__HASH_START, host, strlen(host));

    return ilk__hash(hash, &port, sizeof port) | 1;
}

ilk_status ilk__primary_init(ilk__primary *primary, const ilk__url *url,
                             ilk_error *err)
{
    return ilk__announced_init(&primary->announced, url->sentinels->patterns,
                               NEW_AT_ONCE, NEW_EACH_MS, err);
}

ilk_status ilk__primary_check(ilk__primary *primary, const ilk__url *url,
                              const char *host, int port, ilk_error *err)
{
    const ilk__url_sentinels *sentinels = url->sentinels;

    if (sentinels->patterns)
        for (size_t i = 0; i < sentinels->count; i++)
            if (strcmp(sentinels->hosts[i], host) == 0)
                return ILK_OK;
    return ilk__announced_check(&primary->announced, host, port, err);
}

void ilk__primary_switched(ilk__primary *primary, unsigned sentinel,
                           const char *host, int port)
{
    atomic_store(&primary->sentinel, sentinel);
    atomic_store(&primary->server, ilk__server_hash(host, port));
    atomic_fetch_add(&primary->switches, 1); /* last: see conn.c */
}

int ilk__is_address(const char *host, const char *port, int *out_port)
{
    const ilk__span digits = {port, strlen(port)};

    *out_port = (int)ilk__text_number(digits, 65535);
    return *out_port > 0 && strlen(host) < HOST_ROOM && ilk__url_is_host(host);
}

const char *ilk__sentinel_address(const ilk__reply *reply, int *out_port)
{
    const ilk__reply *host, *port;

    if (reply->type != ILK__REPLY_ARRAY || reply->count != 2)
        return NULL;
    host = reply->items[0];
    port = reply->items[1];
    if (host->type != ILK__REPLY_STR || port->type != ILK__REPLY_STR
        || strlen(host->str) != host->len
        || !ilk__is_address(host->str, port->str, out_port))
        return NULL;
    return host->str;
}

void ilk__sentinel_url(ilk__url *out, const ilk__url *url, size_t sentinel)
{
    const ilk__url_sentinels *sentinels = url->sentinels;

    *out = *url;
    out->sentinels = NULL;
    out->host = sentinels->hosts[sentinel];
    out->port = sentinels->ports[sentinel];
    out->user = sentinels->user;
    out->password = sentinels->password;
    out->db = 0;
}

/* ---- the search --------------------------------------------------------- */

ilk__sentinel_search *ilk__sentinel_search_new(const ilk__target *target)
{
    ilk__sentinel_search *search = ilk__calloc(1, sizeof *search);

    if (search == NULL)
        return NULL;
    search->target = target;
    search->sentinels = target->url->sentinels;
    return search;
}

void ilk__sentinel_search_free(ilk__sentinel_search *search)
{
    if (search == NULL)
        return;
    ilk__conn_close(search->conn);
    ilk__buf_free(&search->out);
    ilk__free(search);
}

void ilk__sentinel_search_disown(ilk__sentinel_search *search)
{
    ilk__conn_close(search->conn); /* as of a forked child */
}

static void hang_up(ilk__sentinel_search *search)
{
    ilk__conn_close(search->conn);
    search->conn = NULL;
    search->asked = 0;
    ilk__buf_drop(&search->out, ilk__buf_len(&search->out));
}

static void next_sentinel(ilk__sentinel_search *search)
{
    search->sentinel =
        (search->sentinel + 1) % (unsigned)search->sentinels->count;
}

static void begin(ilk__sentinel_search *search)
{
    const ilk__primary *primary = search->target->primary;
    unsigned last = primary != NULL ? atomic_load(&primary->sentinel) : 0;

    search->refused = 0;
    search->reasons[0] = '\0';
    if (!search->distrusted && last < search->sentinels->count)
        search->sentinel = last;
    search->distrusted = 0;
}

static ilk_status connect_to(ilk__sentinel_search *search, int64_t deadline,
                             ilk_error *err)
{
    const ilk__target *target = search->target;
    int64_t now = ilk__now_ms(), share = SENTINEL_MS;
    size_t left = search->sentinels->count - search->tried;

    if (search->tried++ == 0)
        begin(search);
    /* one more share is for the connection to the primary */
    if (deadline != ILK__FOREVER)
        share = deadline > now ? (deadline - now) / (int64_t)(left + 1) : 0;
    search->until = now + share;
    ilk__sentinel_url(&search->url, target->url, search->sentinel);
    search->to = (ilk__target){.url = &search->url, .name = target->name};
    return ilk__conn_start(&search->conn, &search->to, NULL, search->until,
                           err);
}

static ilk_status ask(ilk__sentinel_search *search, ilk_error *err)
{
    ilk__command command;
    ilk_status status;

    if (search->asked)
        return ILK_OK;
    search->asked = 1;
    ilk__command_init(&command);
    ilk__command_add_str(&command, "SENTINEL");
    ilk__command_add_str(&command, "GET-MASTER-ADDR-BY-NAME");
    ilk__command_add_str(&command, search->sentinels->service);
    status = ilk__command_format(&command, 0, &search->out, err);
    ilk__command_free(&command);
    return status;
}

static ilk_status send_question(ilk__sentinel_search *search, ilk_error *err)
{
    size_t len = ilk__buf_len(&search->out), sent;
    ilk_status status;

    if (len == 0 && !ilk__conn_unsent(search->conn))
        return ILK_OK;
    status = ilk__conn_send(search->conn, ilk__buf_data(&search->out), len,
                            &sent, err);
    ilk__buf_drop(&search->out, sent);
    return status;
}

/* ILK_EAGAIN: it is no reply to the question. */
static ilk_status read_answer(ilk__sentinel_search *search,
                              const ilk__reply *reply, ilk_error *err)
{
    const char *host;

    if (reply->type == ILK__REPLY_PUSH)
        return ILK_EAGAIN;
    if (reply->type == ILK__REPLY_ERROR)
        return ilk__reply_error(reply, err);
    if (reply->type == ILK__REPLY_NIL)
        return ilk__fail(err, ILK_ECONN, "it does not know the service");
    host = ilk__sentinel_address(reply, &search->port);
    if (host == NULL)
        return ilk__fail(err, ILK_ECONN, "its answer is no address");
    memcpy(search->host, host, strlen(host) + 1);
    return search->target->primary ? ilk__primary_check(search->target->primary,
                                                        search->target->url,
                                                        host, search->port, err)
                                   : ILK_OK;
}

static ilk_status await_answer(ilk__sentinel_search *search, ilk_error *err)
{
    ilk__reply *reply;
    ilk_status status;
    size_t bytes;

    for (;;) {
        status = ilk__conn_reply(search->conn, &reply, err);
        if (status == ILK_OK) {
            status = read_answer(search, reply, err);
            ilk__reply_free(reply);
        } else if (status == ILK_EAGAIN) {
            status = ilk__conn_recv(search->conn, &bytes, err);
            if (status != ILK_OK)
                return status;
            status = ILK_EAGAIN;
        }
        if (status != ILK_EAGAIN)
            return status;
    }
}

/* Talk to the current sentinel. */
static ilk_status talk(ilk__sentinel_search *search, ilk_error *err)
{
    ilk_status status = ilk__conn_step(search->conn, err);

    if (status == ILK_OK)
        status = ask(search, err);
    if (status == ILK_OK)
        status = send_question(search, err);
    if (status == ILK_OK)
        status = await_answer(search, err);
    return status;
}

/* Add the reason of the current sentinel's failure to those of the others. */
static void note(ilk__sentinel_search *search, ilk_status status,
                 const ilk_error *why)
{
    const ilk__url *url = &search->url;
    size_t len = strlen(search->reasons);
    char *end = search->reasons + len;
    size_t room = sizeof search->reasons - len;
    const char *separator = len > 0 ? "; " : "";

    search->refused += status == ILK_EAUTH;
    if (search->asked) /* the text does not say which sentinel it was */
        snprintf(end, room, "%s%s:%d: %s", separator, url->host, url->port,
                 why->msg);
    else
        snprintf(end, room, "%s%s", separator, why->msg);
}

static ilk_status fail(ilk__sentinel_search *search, ilk_error *err)
{
    int all_refused = search->refused == search->sentinels->count;

    return ilk__fail(err, all_refused ? ILK_EAUTH : ILK_ECONN,
                     "no sentinel says where %.128s is: %s",
                     search->sentinels->service, search->reasons);
}

ilk_status ilk__sentinel_search_step(ilk__sentinel_search *search,
                                     int64_t deadline, ilk_error *err)
{
    ilk__primary *primary = search->target->primary;
    ilk_status status = ILK_OK;
    ilk_error why;

    for (;;) {
        ilk__error_clear(&why);
        if (search->conn == NULL)
            status = connect_to(search, deadline, &why);
        if (search->conn != NULL)
            status = talk(search, &why);
        if (status == ILK_EAGAIN && ilk__now_ms() < search->until)
            return ILK_EAGAIN;
        if (status == ILK_EAGAIN)
            status = ilk__fail(&why, ILK_ECONN, "no answer in time");
        if (status != ILK_OK)
            note(search, status, &why);
        hang_up(search);
        if (status == ILK_OK && primary != NULL)
            atomic_store(&primary->sentinel, search->sentinel);
        if (status != ILK_OK)
            next_sentinel(search);
        if (status != ILK_OK && status != ILK_ENOMEM
            && search->tried < search->sentinels->count)
            continue;
        search->tried = 0;
        if (status == ILK_ENOMEM)
            return ilk__fail(err, status, "%s", why.msg);
        return status == ILK_OK ? ILK_OK : fail(search, err);
    }
}

int ilk__sentinel_search_fd(const ilk__sentinel_search *search)
{
    return search->conn != NULL ? ilk__conn_fd(search->conn) : -1;
}

short ilk__sentinel_search_events(const ilk__sentinel_search *search)
{
    short events =
        search->conn != NULL ? ilk__conn_events(search->conn) : (short)0;

    return ilk__buf_len(&search->out) > 0 ? (short)(events | POLLOUT) : events;
}

int64_t ilk__sentinel_search_until(const ilk__sentinel_search *search)
{
    return search->conn != NULL
               ? ilk__sooner(search->until, ilk__conn_until(search->conn))
               : search->until;
}

const char *ilk__sentinel_search_host(const ilk__sentinel_search *search)
{
    return search->host;
}

int ilk__sentinel_search_port(const ilk__sentinel_search *search)
{
    return search->port;
}

void ilk__sentinel_search_distrust(ilk__sentinel_search *search)
{
    next_sentinel(search);
    search->distrusted = 1;
}
