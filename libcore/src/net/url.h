/* SPDX-License-Identifier: MIT */
/* url.h -- parses a URL: the server's address, the login, and options. */
#ifndef ILK__URL_H
#define ILK__URL_H

#include "url_text.h"

typedef enum ilk__scheme {
    ILK__SCHEME_TCP,      /* redis://  */
    ILK__SCHEME_TLS,      /* rediss:// */
    ILK__SCHEME_UNIX,     /* unix://   */
    ILK__SCHEME_EMBEDDED, /* embedded:// */
    ILK__SCHEME_BACKEND   /* one that ilk__url_add_backend() has added */
} ilk__scheme;

typedef struct ilk__url {
    ilk__scheme scheme;
    const struct ilk__backend *backend; /* BACKEND: as it was added */
    char *hosts;   /* BACKEND: what stands between user and path, not decoded */
    char *options; /* BACKEND: the whole query, not decoded, or NULL */
    char *host;    /* TCP, TLS: name or address; IPv6 without brackets */
    int port;      /* TCP, TLS: default 6379 */
    char *path;    /* UNIX: the socket; EMBEDDED: the directory or NULL;
                       BACKEND: its own meaning, or NULL */
    int same_user; /* UNIX: the server must run as this user; not parsed */
    char *user;    /* NULL when not given */
    char *password;             /* NULL when not given; wiped when freed */
    int db;                     /* default 0 */
    char *label;                /* query: NULL when not given */
    char *ca, *cert, *key;      /* query, TLS: file names, or NULL */
    int64_t connect_timeout_ms; /* query: 0 when not given */
    int64_t reply_timeout_ms;   /* query: 0 when not given */
    int64_t outage_ms;          /* query: 0 when not given, or `0` */
    int no_outage_wait;         /* query: outage=0 */
    int protocol;               /* query: 0, 2 or 3 */
    struct ilk__tls_store *tls; /* TLS: shared by connections, or NULL; borrowed
                                   from the client, not parsed */
    struct ilk__url_sentinels *sentinels; /* TCP, TLS: they give the server's
                       address, and host is NULL; see url_sentinels.h */
    char *listen; /* query: replicas to subscribe to as well, or NULL */
    char *shown;  /* the URL without its password */
} ilk__url;

/*
 * Make a scheme known, whose hosts, path and query a backend parses; `name`, in
 * lower case, and the backend must exist as long as the process. A name that is
 * known already keeps its backend. Any thread. ILK_ENOMEM.
 */
ilk_status ilk__url_add_backend(const char *name,
                                const struct ilk__backend *backend);

/* Returns 1 if ilk__url_parse() does not know the scheme of the URL yet, and the scheme
 * has only letters and, behind the first, '+': `out` is the scheme in lower case. */
enum { ILK__URL_SCHEME_MAX = 16 };
int ilk__url_unknown_scheme(char out[ILK__URL_SCHEME_MAX + 1],
                            const char *text);

/*
 * Parse text; user, password, path and query values are percent-decoded.
 * ILK_EINVAL, with a message that says what is wrong and never contains the
 * password. On failure *out is empty; on success the caller frees it with
 * ilk__url_free().
 */
ilk_status ilk__url_parse(ilk__url *out, const char *text, ilk_error *err);
/* Parse `host[:port]` into url->host and url->port. `what` begins the error
 * message. */
ilk_status ilk__url_parse_host(ilk__url *url, ilk__span text, const char *what,
                               ilk_error *err);
/* The same for an address of another kind; the caller frees *out_host, also
 * after a failure. */
ilk_status ilk__url_parse_address(char **out_host, int *out_port,
                                  ilk__span text, int default_port,
                                  const char *what, ilk_error *err);
/* Whether a text without brackets is a host's name or address. */
int ilk__url_is_host(const char *text);
/* Parse the number of a database, or nothing for 0, into url->db. */
ilk_status ilk__url_parse_db(ilk__url *url, ilk__span text, ilk_error *err);
void ilk__url_free(ilk__url *url); /* leaves it empty */

#endif
