/* SPDX-License-Identifier: MIT */
/* url.h -- parses a URL: the server's address, the login, and options. */
#ifndef ILK__URL_H
#define ILK__URL_H

#include "url_text.h"

typedef enum ilk__scheme {
    ILK__SCHEME_TCP,     /* redis://  */
    ILK__SCHEME_TLS,     /* rediss:// */
    ILK__SCHEME_UNIX,    /* unix://   */
    ILK__SCHEME_EMBEDDED /* embedded:// */
} ilk__scheme;

typedef struct ilk__url {
    ilk__scheme scheme;
    char *host;     /* TCP, TLS: name or address; IPv6 without brackets */
    int port;       /* TCP, TLS: default 6379 */
    char *path;     /* UNIX: the socket; EMBEDDED: the directory or NULL */
    char *user;     /* NULL when not given */
    char *password; /* NULL when not given; wiped when freed */
    int db;         /* default 0 */
    char *label;    /* query: NULL when not given */
    char *ca, *cert, *key;      /* query, TLS: file names, or NULL */
    int64_t connect_timeout_ms; /* query: 0 when not given */
    int64_t reply_timeout_ms;   /* query: 0 when not given */
    int protocol;               /* query: 0, 2 or 3 */
    char *listen; /* query: replicas to subscribe to as well, or NULL */
    char *shown;  /* the URL without its password */
} ilk__url;

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
void ilk__url_free(ilk__url *url); /* leaves it empty */

#endif
