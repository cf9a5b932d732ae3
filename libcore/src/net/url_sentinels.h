/* SPDX-License-Identifier: MIT */
/*
 * url_sentinels.h -- the part of a URL that names sentinels:
 *
 *     redis+sentinel://[user[:password]@]host[:port],.../service[/db][?...]
 *
 * User, password and db are for the Redis servers of the service. The
 * sentinels have their own user and password, by the query keys sentinel_user
 * and sentinel_password_file. min_replicas is the number of replicas that must
 * have a hold before it is believed. hosts narrows which addresses the sentinels may
 * name (announced.h).
 */
#ifndef ILK__URL_SENTINELS_H
#define ILK__URL_SENTINELS_H

#include "url.h"

enum {
    ILK__SENTINELS_MAX = 16,
    ILK__SENTINEL_PORT = 26379,
    ILK__SERVICE_MAX = 128, /* bytes of a service's name */
    ILK__MIN_REPLICAS_MAX = 100
};

typedef struct ilk__url_sentinels {
    char *service;
    char *hosts[ILK__SENTINELS_MAX]; /* as ilk__url.host */
    int ports[ILK__SENTINELS_MAX];
    size_t count;
    char *user;          /* query: NULL when not given */
    char *password_file; /* query: NULL when not given */
    char *password;      /* of the file; wiped when freed */
    char *patterns;      /* query, hosts: what primaries must match, or NULL */
    int min_replicas;    /* query: 0 when not given */
} ilk__url_sentinels;

/* Parse `hosts` and `path` into url->sentinels and url->db; on failure the
 * caller frees the URL. ILK_EINVAL, ILK_ENOMEM. */
ilk_status ilk__url_sentinels_parse(ilk__url *url, ilk__span hosts,
                                    ilk__span path, ilk_error *err);

/* Read the password from its file, if the URL names one: its first line.
 * ILK_EINVAL: it cannot be read, or there is no password in it. */
ilk_status ilk__url_sentinels_read(ilk__url_sentinels *sentinels,
                                   ilk_error *err);

void ilk__url_sentinels_free(ilk__url_sentinels *sentinels); /* or NULL */

#endif
