/* SPDX-License-Identifier: MIT */
/* server.c -- ilk_server_status() and ilk_server_stop(), for operators. */
#include "base/cancel.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/opts.h"
#include "embedded_spawn.h"
#include "embedded_stop.h"
#include "net/url.h"

#include <interlock/server.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Open the directory that a URL names; fd is -1 if it does not exist. */
static ilk_status open_home(ilk__home *out, const char *text, ilk_error *err)
{
    ilk_status st;
    ilk__url url;

    if (text == NULL)
        return ilk__home_open(out, NULL, 0, err);
    if ((st = ilk__url_parse(&url, text, err)) != ILK_OK)
        return st;
    if (url.scheme == ILK__SCHEME_EMBEDDED)
        st = ilk__home_open(out, url.path, 0, err);
    else
        st = ilk__fail(err, ILK_EINVAL,
                       "the URL of an embedded server begins embedded://, "
                       "got %s",
                       url.shown);
    ilk__url_free(&url);
    return st;
}

static ilk_status read_status(const char *url, ilk_server_info *info,
                              ilk_error *err)
{
    ilk_server_info ours = {.size = sizeof ours};
    char program[ILK__PROGRAM_MAX];
    ilk__home home = {.fd = -1};
    ilk_status st;

    if ((st = open_home(&home, url, err)) != ILK_OK)
        return st;
    ilk__program_find(program, NULL);
    snprintf(ours.dir, sizeof ours.dir, "%s", home.path);
    snprintf(ours.socket, sizeof ours.socket, "%s", home.socket);
    snprintf(ours.program, sizeof ours.program, "%.*s",
             (int)sizeof ours.program - 1, program);
    if (home.fd >= 0 && ilk__home_alive(&home)) {
        ours.running = 1;
        ours.pid = ilk__home_pid(&home, "pid");
    }
    ilk__home_close(&home);
    return ilk__opts_fill(info, &ours, sizeof ours, "info", err);
}

ilk_status ilk_server_status(const char *url, ilk_server_info *info,
                             ilk_error *err)
{
    int cancelling = ilk__cancel_disable();
    ilk_status st;

    ilk__error_clear(err);
    st = read_status(url, info, err);
    ilk__cancel_restore(cancelling);
    return st;
}

static ilk_status stop(const char *url, int64_t deadline, ilk_error *err)
{
    ilk__home home = {.fd = -1};
    ilk_status st;
    int lock;

    if ((st = open_home(&home, url, err)) != ILK_OK || home.fd < 0)
        return st;
    st = ilk__home_lock(&home, deadline, &lock, err);
    if (st == ILK_OK) {
        st = ilk__embedded_stop(&home, deadline, err);
        ilk__home_unlock(lock);
    } else if (st == ILK_ECONN) {
        st = ilk__fail(err, ILK_ETIMEOUT,
                       "another process is still starting or stopping the "
                       "server in %s",
                       home.path);
    }
    ilk__home_close(&home);
    return st;
}

ilk_status ilk_server_stop(const char *url, int64_t timeout_ms, ilk_error *err)
{
    int cancelling = ilk__cancel_disable();
    ilk_status st;

    ilk__error_clear(err);
    st = ilk__check_timeout(timeout_ms, err);
    if (st == ILK_OK)
        st = stop(url, ilk__deadline(timeout_ms), err);
    ilk__cancel_restore(cancelling);
    return st;
}
