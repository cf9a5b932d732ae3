/* SPDX-License-Identifier: MIT */
/* list_conformance.c -- the table over the list store, without what such a store
 * does not keep. */
#include "conformance_server.h"

#include "list_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static ilk__gateway *gateway;
static ilk__url url;
static char directory[] = "/tmp/ilk-list-XXXXXX";

static const char *const files[] = {"lock", "lease", "rwlock", "semaphore",
                                    "election"};
/* Words of the titles of cases that are left out. */
static const char *const left_out[] = {"barging", "identity", "wrong types",
                                       "others have spoilt", "names and keys"};

static int is_left_out(const char *title)
{
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (strstr(title, left_out[i]))
            return 1;
    return 0;
}

static void filter(const char *file)
{
    char path[512], line[4096];
    int skips = 0;
    FILE *in, *out;

    snprintf(path, sizeof path, "%s/%s.txt", ILK_TEST_TABLES, file);
    in = fopen(path, "r");
    snprintf(path, sizeof path, "%s/%s.txt", directory, file);
    out = fopen(path, "w");
    if (!in || !out)
        abort();
    while (fgets(line, sizeof line, in)) {
        if (strncmp(line, "case ", 5) == 0)
            skips = is_left_out(line);
        if (!skips)
            fputs(line, out);
    }
    fclose(in);
    if (fclose(out))
        abort();
}

/* Before main() reads the table. */
__attribute__((constructor)) static void make_table(void)
{
    if (!mkdtemp(directory))
        abort();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        filter(files[i]);
    setenv("ILK_CONFORMANCE_DIR", directory, 1);
}

static void remove_table(void)
{
    char path[512];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s.txt", directory, files[i]);
        unlink(path);
    }
    rmdir(directory);
}

/* Shares of faults are those of $ILK_LIST, such as "late=20&lose=5". */
int conformance_server_start(fixture *fx)
{
    const char *faults = getenv("ILK_LIST");
    struct timeval wait = {.tv_sec = 5};

    memset(fx, 0, sizeof *fx);
    fx->fd = -1;
    ilk__backend_register(&list_backend);
    snprintf(fx->unix_url, sizeof fx->unix_url, "list://%s%s",
             faults ? "?" : "", faults ? faults : "");
    if (ilk__url_parse(&url, "list://", NULL)
        || ilk__gateway_open(&gateway, &list_backend, &url, NULL)
        || ilk__gateway_connect(gateway, &fx->fd, NULL))
        return -1;
    fx->fd_owner = getpid();
    fcntl(fx->fd, F_SETFL, 0); /* the fixture's reads block */
    return setsockopt(fx->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
}

int conformance_server_stop(fixture *fx)
{
    long overlaps = list_store_overlaps();

    remove_table(); /* a case that failed may leave its client open */
    fixture_hang_up(fx);
    ilk__gateway_free(gateway);
    ilk__url_free(&url);
    list_store_reset();
    return overlaps ? -1 : 0;
}
