/* SPDX-License-Identifier: MIT */
/* url_sentinels.c -- parses the part of a URL that names sentinels. */
#include "url_sentinels.h"

#include "base/alloc.h"
#include "base/cancel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { PASSWORD_MAX = 1024 };

static ilk_status parse_hosts(ilk__url_sentinels *out, ilk__span rest,
                              ilk_error *err)
{
    int more = 1;

    while (more) {
        ilk__span item = ilk__text_cut(&rest, ',', &more);
        size_t at = out->count;
        ilk_status st;

        if (at == ILK__SENTINELS_MAX)
            return ilk__fail(err, ILK_EINVAL, "URL: at most %d sentinels",
                             ILK__SENTINELS_MAX);
        out->count++;
        st = ilk__url_parse_address(&out->hosts[at], &out->ports[at], item,
                                    ILK__SENTINEL_PORT, "URL", err);
        if (st != ILK_OK)
            return st;
    }
    return ILK_OK;
}

/* Sentinel's messages separate names and addresses by spaces. */
static int is_service(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f)
            return 0;
    return len <= ILK__SERVICE_MAX;
}

static ilk_status parse_service(ilk__url *url, ilk__span path, ilk_error *err)
{
    ilk__span service;
    ilk_status st;

    ilk__text_cut(&path, '/', NULL);
    service = ilk__text_cut(&path, '/', NULL);
    if (service.len == 0)
        return ilk__fail(err, ILK_EINVAL,
                         "URL: the name of the sentinels' service is missing, "
                         "as in redis+sentinel://host:26379/mymaster/0");
    st = ilk__text_decode(&url->sentinels->service, service, "service", err);
    if (st == ILK_OK && !is_service(url->sentinels->service))
        st = ilk__fail(err, ILK_EINVAL,
                       "URL: the service's name has at most %d bytes, and no "
                       "spaces or control characters",
                       ILK__SERVICE_MAX);
    return st == ILK_OK ? ilk__url_parse_db(url, path, err) : st;
}

ilk_status ilk__url_sentinels_parse(ilk__url *url, ilk__span hosts,
                                    ilk__span path, ilk_error *err)
{
    ilk_status st;

    url->sentinels = ilk__calloc(1, sizeof *url->sentinels);
    if (url->sentinels == NULL)
        return ilk__fail(err, ILK_ENOMEM, "no memory for the URL");
    st = parse_hosts(url->sentinels, hosts, err);
    return st == ILK_OK ? parse_service(url, path, err) : st;
}

/* Read at most `room` bytes. -1: errno says why. */
static ssize_t read_file(const char *path, char *out, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t got = fd < 0 ? -1 : 1;

    while (got > 0 && len < room) {
        do
            got = read(fd, out + len, room - len);
        while (got < 0 && errno == EINTR);
        len += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0) {
        int error = errno;

        close(fd);
        errno = error;
    }
    return got < 0 ? -1 : (ssize_t)len;
}

ilk_status ilk__url_sentinels_read(ilk__url_sentinels *sentinels,
                                   ilk_error *err)
{
    char text[PASSWORD_MAX + 2]; /* and a line's end */
    const char *path = sentinels->password_file;
    ilk_status st = ILK_OK;
    ssize_t got;
    int cancelling;
    size_t len;

    if (path == NULL)
        return ILK_OK;
    cancelling = ilk__cancel_disable();
    got = read_file(path, text, sizeof text - 1);
    ilk__cancel_restore(cancelling);
    if (got < 0)
        return ilk__fail(err, ILK_EINVAL,
                         "sentinel_password_file: cannot read %.150s: %s", path,
                         strerror(errno));
    text[got] = '\0';
    len = strcspn(text, "\r\n");
    if (len == 0 || len > PASSWORD_MAX)
        st = ilk__fail(err, ILK_EINVAL,
                       "sentinel_password_file: the first line of %.150s must "
                       "have 1 to %d bytes",
                       path, PASSWORD_MAX);
    else if ((sentinels->password = ilk__memdup(text, len)) == NULL)
        st = ilk__fail(err, ILK_ENOMEM, "no memory for the URL");
    ilk__wipe(text, sizeof text);
    return st;
}

void ilk__url_sentinels_free(ilk__url_sentinels *sentinels)
{
    if (sentinels == NULL)
        return;
    for (size_t i = 0; i < sentinels->count; i++)
        ilk__free(sentinels->hosts[i]);
    if (sentinels->password != NULL)
        ilk__wipe(sentinels->password, strlen(sentinels->password));
    ilk__free(sentinels->password);
    ilk__free(sentinels->service);
    ilk__free(sentinels->user);
    ilk__free(sentinels->password_file);
    ilk__free(sentinels->patterns);
    ilk__free(sentinels);
}
