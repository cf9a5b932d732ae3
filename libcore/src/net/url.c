/* SPDX-License-Identifier: MIT */
/*
 * url.c -- parses a URL: the server's address, the login, and options.
 *
 *     scheme://[user[:password]@]host[:port][/db][?key=value&...]
 *
 * Parsing is strict: a part without a meaning is refused. In a URL whose
 * password was not percent-encoded, the password may extend into any other
 * part. To keep it out of error messages, no message quotes the authority, and
 * an '@' after the authority is refused before any part is quoted.
 */
#include "url.h"

#include "announced.h"
#include "base/alloc.h"
#include "url_sentinels.h"
#include "url_text.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { URL_MAX = 4096, HOST_MAX = 253, PORT_DEFAULT = 6379 };

/* The parts of the text, between its separators; not decoded yet. */
typedef struct parts {
    ilk__span userinfo, host, path, query;
    int has_user, has_query;
} parts;

static const struct {
    const char *name;
    ilk__scheme scheme;
    int sentinels; /* the hosts are sentinels */
} schemes[] = {
    {"redis", ILK__SCHEME_TCP, 0},
    {"rediss", ILK__SCHEME_TLS, 0},
    {"valkey", ILK__SCHEME_TCP, 0},
    {"valkeys", ILK__SCHEME_TLS, 0},
    {"unix", ILK__SCHEME_UNIX, 0},
    {"embedded", ILK__SCHEME_EMBEDDED, 0},
    {"redis+sentinel", ILK__SCHEME_TCP, 1},
    {"rediss+sentinel", ILK__SCHEME_TLS, 1},
    {"valkey+sentinel", ILK__SCHEME_TCP, 1},
    {"valkeys+sentinel", ILK__SCHEME_TLS, 1},
};

/* ---- schemes of backends ------------------------------------------------ */

typedef struct backend_scheme {
    struct backend_scheme *next;
    const char *name;
    const struct ilk__backend *backend;
} backend_scheme;

/* Grows at its head only, so that it needs no mutex, which a forked child could
 * find locked. */
static _Atomic(backend_scheme *) backends;

static const backend_scheme *find_backend(const backend_scheme *first,
                                          const char *name)
{
    while (first && strcmp(first->name, name) != 0)
        first = first->next;
    return first;
}

ilk_status ilk__url_add_backend(const char *name,
                                const struct ilk__backend *backend)
{
    backend_scheme *one = ilk__malloc(sizeof *one);

    if (one == NULL)
        return ILK_ENOMEM;
    one->next = atomic_load(&backends);
    one->name = name;
    one->backend = backend;
    do
        if (find_backend(one->next, name)) {
            ilk__free(one);
            return ILK_OK;
        }
    while (!atomic_compare_exchange_weak(&backends, &one->next, one));
    return ILK_OK;
}

int ilk__url_unknown_scheme(char out[ILK__URL_SCHEME_MAX + 1], const char *text)
{
    size_t len = 0;

    for (; len < ILK__URL_SCHEME_MAX; len++) {
        const char letter = (char)(text[len] | 0x20);
        const int is_letter = letter >= 'a' && letter <= 'z';

        if (!is_letter && (text[len] != '+' || len == 0))
            break;
        out[len] = is_letter ? letter : '+';
    }
    out[len] = '\0';
    if (len == 0 || strncmp(text + len, "://", 3) != 0)
        return 0;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strcmp(out, schemes[i].name) == 0)
            return 0;
    return find_backend(atomic_load(&backends), out) == NULL;
}

/* ---- parts -------------------------------------------------------------- */

static int has_flag(ilk__span query, const char *flag)
{
    int more = query.len != 0;

    while (more)
        if (ilk__text_equals(ilk__text_cut(&query, '&', &more), flag))
            return 1;
    return 0;
}

/* Remove `name://` from the front; 0 when the text begins otherwise. */
static int cut_scheme(ilk__span *rest, const char *name)
{
    size_t len = strlen(name);

    if (rest->len < len + 3 || strncasecmp(rest->at, name, len) != 0
        || memcmp(rest->at + len, "://", 3) != 0)
        return 0;
    rest->at += len + 3;
    rest->len -= len + 3;
    return 1;
}

/* *out_sentinels: the hosts are sentinels. */
static ilk_status parse_scheme(ilk__url *url, ilk__span *rest,
                               int *out_sentinels, ilk_error *err)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (cut_scheme(rest, schemes[i].name)) {
            url->scheme = schemes[i].scheme;
            *out_sentinels = schemes[i].sentinels;
            return ILK_OK;
        }
    for (const backend_scheme *one = atomic_load(&backends); one;
         one = one->next)
        if (cut_scheme(rest, one->name)) {
            url->scheme = ILK__SCHEME_BACKEND;
            url->backend = one->backend;
            return ILK_OK;
        }
    return ilk__fail(err, ILK_EINVAL,
                     "URL: it must begin with redis://, rediss://, valkey://, "
                     "valkeys://, unix://, embedded://, redis+sentinel://, "
                     "rediss+sentinel://, redis+cluster://, "
                     "rediss+cluster://, etcd://, zookeeper://, mysql:// or "
                     "mariadb://");
}

/* Flags of the query: the same servers, behind another backend. */
static const struct {
    const char *flag, *plain, *with_tls; /* their schemes */
} groupings[] = {{"quorum", "redis+quorum", "rediss+quorum"},
                 {"ring", "redis+ring", "rediss+ring"}};

enum { GROUPINGS = sizeof groupings / sizeof groupings[0] };

static int is_grouping(ilk__span key)
{
    for (size_t i = 0; i < GROUPINGS; i++)
        if (ilk__text_equals(key, groupings[i].flag))
            return 1;
    return 0;
}

static void group_servers(ilk__url *url, ilk__span query)
{
    const backend_scheme *scheme = NULL;

    for (size_t i = 0; i < GROUPINGS && !scheme; i++)
        if (has_flag(query, groupings[i].flag)
            && (url->scheme == ILK__SCHEME_TCP
                || url->scheme == ILK__SCHEME_TLS))
            scheme = find_backend(atomic_load(&backends),
                                  url->scheme == ILK__SCHEME_TLS
                                      ? groupings[i].with_tls
                                      : groupings[i].plain);
    if (!scheme)
        return;
    url->scheme = ILK__SCHEME_BACKEND;
    url->backend = scheme->backend;
}

static ilk_status cut_parts(parts *out, ilk__span rest, ilk_error *err)
{
    ilk__span authority = rest;
    size_t len;

    for (size_t i = 0; i < rest.len; i++)
        if ((unsigned char)rest.at[i] <= ' ' || rest.at[i] == 0x7f
            || rest.at[i] == '#')
            return ilk__fail(err, ILK_EINVAL,
                             "URL: control characters, spaces and '#' must "
                             "be percent-encoded");
    for (len = 0; len < rest.len; len++)
        if (rest.at[len] == '/' || rest.at[len] == '?')
            break;
    authority.len = len;
    rest.at += len;
    rest.len -= len;

    out->userinfo = ilk__text_cut(&authority, '@', &out->has_user);
    out->host = authority;
    if (!out->has_user) {
        out->host = out->userinfo;
        out->userinfo.len = 0;
    }
    if (memchr(out->host.at, '@', out->host.len) != NULL
        || memchr(rest.at, '@', rest.len) != NULL)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: '@', '/' and '?' must be percent-encoded in "
                         "user and password, '@' everywhere else too");
    out->path = ilk__text_cut(&rest, '?', &out->has_query);
    out->query = rest;
    return ILK_OK;
}

static ilk_status parse_user(ilk__url *url, const parts *p, ilk_error *err)
{
    ilk__span rest = p->userinfo, user;
    ilk_status st = ILK_OK;
    int has_password;

    user = ilk__text_cut(&rest, ':', &has_password);
    if (user.len != 0)
        st = ilk__text_decode(&url->user, user, "user", err);
    /* "user:" means an empty password, ":" means no password at all. */
    if (st == ILK_OK && has_password && (rest.len != 0 || user.len != 0))
        st = ilk__text_decode(&url->password, rest, "password", err);
    return st;
}

static int is_host(const char *host)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-._";

    return host[0] != '\0' && host[strspn(host, allowed)] == '\0'
           && strlen(host) <= HOST_MAX;
}

/* An IPv6 address, perhaps with a zone: fe80::1%eth0. */
static int is_ipv6(const char *host)
{
    char address[INET6_ADDRSTRLEN];
    unsigned char bytes[16];
    size_t len = strcspn(host, "%");

    if (len >= sizeof address)
        return 0;
    memcpy(address, host, len);
    address[len] = '\0';
    return inet_pton(AF_INET6, address, bytes) == 1
           && (host[len] == '\0' || is_host(host + len + 1));
}

int ilk__url_is_host(const char *text)
{
    return is_host(text) || is_ipv6(text);
}

ilk_status ilk__url_parse_address(char **out_host, int *out_port,
                                  ilk__span rest, int default_port,
                                  const char *what, ilk_error *err)
{
    int bracket = rest.len != 0 && rest.at[0] == '[', has_port, closed = 1;
    ilk_status st;
    int64_t port;
    ilk__span host;

    if (bracket) {
        ilk__text_cut(&rest, '[', NULL);
        host = ilk__text_cut(&rest, ']', &closed);
        has_port = rest.len != 0;
        if (!closed || (has_port && rest.at[0] != ':'))
            return ilk__fail(err, ILK_EINVAL,
                             "%s: the host's bracket is not closed", what);
        ilk__text_cut(&rest, ':', NULL);
    } else {
        host = ilk__text_cut(&rest, ':', &has_port);
        if (memchr(rest.at, ':', rest.len) != NULL)
            return ilk__fail(err, ILK_EINVAL,
                             "%s: an IPv6 address stands in brackets", what);
    }
    port = has_port ? ilk__text_number(rest, 65535) : default_port;
    if (port < 1)
        return ilk__fail(err, ILK_EINVAL,
                         "%s: the port must be a number from 1 to 65535", what);
    *out_port = (int)port;
    if ((st = ilk__text_decode(out_host, host, "host", err)) != ILK_OK)
        return st;
    if (bracket ? is_ipv6(*out_host) : is_host(*out_host))
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL,
                     host.len == 0 ? "%s: there is no host"
                                   : "%s: the host is neither a name nor an "
                                     "address",
                     what);
}

ilk_status ilk__url_parse_host(ilk__url *url, ilk__span text, const char *what,
                               ilk_error *err)
{
    return ilk__url_parse_address(&url->host, &url->port, text, PORT_DEFAULT,
                                  what, err);
}

static ilk_status bad_db(ilk__span s, ilk_error *err)
{
    return ilk__fail(err, ILK_EINVAL,
                     "URL: the database must be a number from 0 to %d, got "
                     "\"%.*s\"",
                     INT_MAX, s.len < 40 ? (int)s.len : 40, s.at);
}

ilk_status ilk__url_parse_db(ilk__url *url, ilk__span text, ilk_error *err)
{
    url->db = text.len != 0 ? (int)ilk__text_number(text, INT_MAX) : 0;
    return url->db >= 0 ? ILK_OK : bad_db(text, err);
}

static ilk_status parse_path(ilk__url *url, const parts *p, ilk_error *err)
{
    struct sockaddr_un *address = NULL;
    ilk__span path = p->path;
    ilk_status st;

    if (url->scheme == ILK__SCHEME_BACKEND)
        return path.len == 0 ? ILK_OK
                             : ilk__text_decode(&url->path, path, "path", err);
    if (url->scheme == ILK__SCHEME_TCP || url->scheme == ILK__SCHEME_TLS) {
        ilk__text_cut(&path, '/', NULL);
        return ilk__url_parse_db(url, path, err);
    }
    if (p->host.len != 0)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: the path must be absolute, with three slashes "
                         "as in unix:///run/redis.sock");
    if (url->scheme == ILK__SCHEME_EMBEDDED && p->has_user)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: embedded:// takes no user and no password");
    if (url->scheme == ILK__SCHEME_EMBEDDED && path.len == 0)
        return ILK_OK;
    if (path.len < 2)
        return ilk__fail(err, ILK_EINVAL, "URL: there is no path");
    if ((st = ilk__text_decode(&url->path, path, "path", err)) != ILK_OK)
        return st;
    if (url->scheme == ILK__SCHEME_UNIX
        && strlen(url->path) >= sizeof address->sun_path)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: a socket's path has at most %zu bytes, got %zu",
                         sizeof address->sun_path - 1, strlen(url->path));
    return ILK_OK;
}

/* The field for the value of a query key; NULL for keys with numbers. */
static char **text_field(ilk__url *url, ilk__span key)
{
    int tls = url->scheme == ILK__SCHEME_TLS;

    if (ilk__text_equals(key, "label"))
        return &url->label;
    if (url->sentinels != NULL && ilk__text_equals(key, "sentinel_user"))
        return &url->sentinels->user;
    if (url->sentinels != NULL
        && ilk__text_equals(key, "sentinel_password_file"))
        return &url->sentinels->password_file;
    if (url->sentinels != NULL && ilk__text_equals(key, "hosts"))
        return &url->sentinels->patterns;
    if (url->scheme != ILK__SCHEME_EMBEDDED
        && url->scheme != ILK__SCHEME_BACKEND && url->sentinels == NULL
        && ilk__text_equals(key, "listen"))
        return &url->listen;
    if (tls && ilk__text_equals(key, "ca"))
        return &url->ca;
    if (tls && ilk__text_equals(key, "cert"))
        return &url->cert;
    return tls && ilk__text_equals(key, "key") ? &url->key : NULL;
}

static ilk_status parse_timeout(int64_t *out, ilk__span key, ilk__span value,
                                ilk_error *err)
{
    *out = ilk__text_number(value, INT_MAX);
    if (*out > 0)
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL,
                     "URL: %.*s must be 1 to %d milliseconds, got \"%.*s\"",
                     (int)key.len, key.at, INT_MAX,
                     value.len < 40 ? (int)value.len : 40, value.at);
}

static ilk_status parse_outage(ilk__url *url, ilk__span value, ilk_error *err)
{
    const int64_t ms = ilk__text_duration(value, INT_MAX);

    if (ms < 0)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: outage must be a time such as 2s or 500ms, or "
                         "0, got \"%.*s\"",
                         value.len < 40 ? (int)value.len : 40, value.at);
    url->outage_ms = ms;
    url->no_outage_wait = ms == 0;
    return ILK_OK;
}

/* The older name of outage=0, of stores that need a majority. */
static ilk_status parse_noquorum(ilk__url *url, ilk__span value, ilk_error *err)
{
    url->no_outage_wait = ilk__text_equals(value, "fail");
    if (url->no_outage_wait || ilk__text_equals(value, "wait"))
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL,
                     "URL: noquorum must be wait or fail, got \"%.*s\"",
                     value.len < 40 ? (int)value.len : 40, value.at);
}

static ilk_status parse_min_replicas(ilk__url *url, ilk__span value,
                                     ilk_error *err)
{
    int64_t number = ilk__text_number(value, ILK__MIN_REPLICAS_MAX);

    if (url->sentinels == NULL)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: min_replicas is for sentinels only, as in "
                         "redis+sentinel://host:26379/mymaster?min_replicas=1");
    if (number < 1)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: min_replicas must be 1 to %d, got \"%.*s\"",
                         ILK__MIN_REPLICAS_MAX,
                         value.len < 40 ? (int)value.len : 40, value.at);
    url->sentinels->min_replicas = (int)number;
    return ILK_OK;
}

static ilk_status parse_option(ilk__url *url, ilk__span key, ilk__span value,
                               ilk_error *err)
{
    char **text = text_field(url, key);

    if (text != NULL)
        return ilk__text_decode(text, value, "query", err);
    if (ilk__text_equals(key, "connect_timeout_ms"))
        return parse_timeout(&url->connect_timeout_ms, key, value, err);
    if (ilk__text_equals(key, "reply_timeout_ms"))
        return parse_timeout(&url->reply_timeout_ms, key, value, err);
    if (ilk__text_equals(key, "outage"))
        return parse_outage(url, value, err);
    if (ilk__text_equals(key, "min_replicas"))
        return parse_min_replicas(url, value, err);
    if (ilk__text_equals(key, "protocol")) {
        url->protocol = (int)ilk__text_number(value, 3);
        return url->protocol >= 2
                   ? ILK_OK
                   : ilk__fail(err, ILK_EINVAL, "URL: protocol must be 2 or 3");
    }
    if (ilk__text_equals(key, "db") && url->scheme == ILK__SCHEME_UNIX) {
        url->db = (int)ilk__text_number(value, INT_MAX);
        return url->db >= 0 ? ILK_OK : bad_db(value, err);
    }
    if (url->scheme == ILK__SCHEME_BACKEND && ilk__text_equals(key, "noquorum"))
        return parse_noquorum(url, value, err);
    if (url->scheme == ILK__SCHEME_BACKEND) /* it reads url->options */
        return ILK_OK;
    return ilk__fail(err, ILK_EINVAL,
                     "URL: the query key \"%.*s\" is unknown, or not for "
                     "this scheme",
                     key.len < 40 ? (int)key.len : 40, key.at);
}

/* 1 when the key occurs earlier in the query as well. */
static int is_repeated(ilk__span query, ilk__span key)
{
    while (query.at < key.at) {
        ilk__span item = ilk__text_cut(&query, '&', NULL);
        ilk__span other = ilk__text_cut(&item, '=', NULL);

        if (other.at < key.at && other.len == key.len
            && memcmp(other.at, key.at, key.len) == 0)
            return 1;
    }
    return 0;
}

static int has_key(ilk__span query, const char *name)
{
    int more = query.len != 0;

    while (more) {
        ilk__span item = ilk__text_cut(&query, '&', &more);

        if (ilk__text_equals(ilk__text_cut(&item, '=', NULL), name))
            return 1;
    }
    return 0;
}

static ilk_status check_query(const ilk__url *url, ilk__span query,
                              ilk_error *err)
{
    if ((url->cert == NULL) != (url->key == NULL))
        return ilk__fail(err, ILK_EINVAL,
                         "URL: cert and key must be given together");
    if (has_key(query, "outage") && has_key(query, "noquorum"))
        return ilk__fail(err, ILK_EINVAL,
                         "URL: outage and noquorum exclude each other: "
                         "noquorum=fail is outage=0");
    if (url->sentinels != NULL && url->sentinels->patterns != NULL)
        return ilk__announced_check_patterns(url->sentinels->patterns, err);
    return ILK_OK;
}

static ilk_status parse_query(ilk__url *url, const parts *p, ilk_error *err)
{
    ilk__span rest = p->query;
    int more = p->has_query;

    while (more) {
        ilk__span value = ilk__text_cut(&rest, '&', &more);
        ilk__span key = ilk__text_cut(&value, '=', NULL);
        const char *wrong = NULL;
        ilk_status st;

        if (url->scheme == ILK__SCHEME_BACKEND && value.len == 0
            && is_grouping(key))
            continue;
        if (value.len == 0)
            wrong = "has no value";
        else if (is_repeated(p->query, key))
            wrong = "is given twice";
        if (wrong != NULL)
            return ilk__fail(err, ILK_EINVAL, "URL: the query key \"%.*s\" %s",
                             key.len < 40 ? (int)key.len : 40, key.at, wrong);
        if ((st = parse_option(url, key, value, err)) != ILK_OK)
            return st;
    }
    return check_query(url, p->query, err);
}

static ilk_status copy(char **out, ilk__span text, ilk_error *err)
{
    *out = ilk__malloc(text.len + 1);
    if (*out == NULL)
        return ilk__fail(err, ILK_ENOMEM, "no memory for the URL");
    if (text.len != 0)
        memcpy(*out, text.at, text.len);
    (*out)[text.len] = '\0';
    return ILK_OK;
}

static ilk_status keep_for_backend(ilk__url *url, const parts *p,
                                   ilk_error *err)
{
    ilk_status st = copy(&url->hosts, p->host, err);

    return st == ILK_OK && p->has_query ? copy(&url->options, p->query, err)
                                        : st;
}

/* Keep the text, with "***" instead of the password. */
static ilk_status set_shown(ilk__url *url, const char *text, const parts *p,
                            ilk_error *err)
{
    static const char stars[] = "***";
    ilk__span secret = p->userinfo;
    size_t before, after;

    ilk__text_cut(&secret, ':', NULL);
    if (url->password == NULL)
        secret.at = text + strlen(text);
    before = (size_t)(secret.at - text);
    after = strlen(secret.at + secret.len) + 1;
    url->shown = ilk__malloc(before + sizeof stars + after);
    if (url->shown == NULL)
        return ilk__fail(err, ILK_ENOMEM, "no memory for the URL");
    memcpy(url->shown, text, before + 1);
    if (url->password != NULL) {
        memcpy(url->shown + before, stars, sizeof stars);
        memcpy(url->shown + before + sizeof stars - 1, secret.at + secret.len,
               after);
    }
    return ILK_OK;
}

/* Parse the hosts and the path. */
static ilk_status parse_place(ilk__url *url, const parts *p, int sentinels,
                              ilk_error *err)
{
    ilk_status st = ILK_OK;

    if (sentinels)
        return ilk__url_sentinels_parse(url, p->host, p->path, err);
    if ((url->scheme == ILK__SCHEME_TCP || url->scheme == ILK__SCHEME_TLS)
        && p->host.len && memchr(p->host.at, ',', p->host.len))
        return ilk__fail(err, ILK_EINVAL,
                         "URL: several hosts are a quorum with ?quorum, a ring "
                         "with ?ring, a cluster with redis+cluster://, or "
                         "sentinels with redis+sentinel://");
    if (url->scheme == ILK__SCHEME_TCP || url->scheme == ILK__SCHEME_TLS)
        st = ilk__url_parse_host(url, p->host, "URL", err);
    if (url->scheme == ILK__SCHEME_BACKEND)
        st = keep_for_backend(url, p, err);
    return st == ILK_OK ? parse_path(url, p, err) : st;
}

ilk_status ilk__url_parse(ilk__url *out, const char *text, ilk_error *err)
{
    parts p = {.has_user = 0};
    int sentinels = 0;
    ilk_status st;
    ilk__span rest;

    *out = (ilk__url){.port = 0};
    if (text == NULL)
        return ilk__fail(err, ILK_EINVAL, "URL must not be NULL");
    rest = (ilk__span){text, strnlen(text, URL_MAX + 1)};
    if (rest.len > URL_MAX)
        return ilk__fail(err, ILK_EINVAL, "URL: over %d bytes", URL_MAX);

    if ((st = parse_scheme(out, &rest, &sentinels, err)) != ILK_OK
        || (st = cut_parts(&p, rest, err)) != ILK_OK
        || (st = parse_user(out, &p, err)) != ILK_OK)
        goto out;
    if (!sentinels)
        group_servers(out, p.query);
    st = parse_place(out, &p, sentinels, err);
    if (st == ILK_OK)
        st = parse_query(out, &p, err);
    if (st == ILK_OK)
        st = set_shown(out, text, &p, err);
out:
    if (st != ILK_OK)
        ilk__url_free(out);
    return st;
}

void ilk__url_free(ilk__url *url)
{
    char *texts[] = {url->host,  url->path,  url->user,   url->label,
                     url->ca,    url->cert,  url->key,    url->listen,
                     url->shown, url->hosts, url->options};

    if (url->password != NULL)
        ilk__wipe(url->password, strlen(url->password));
    ilk__free(url->password);
    ilk__url_sentinels_free(url->sentinels);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ilk__free(texts[i]);
    *url = (ilk__url){.port = 0};
}
