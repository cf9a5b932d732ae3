/* SPDX-License-Identifier: MIT */
/*
 * etcd_client_errors.c -- the meaning of etcd's errors.
 *
 * etcd gives one code to errors of different kinds, so the texts are compared, too.
 * They are those of etcdserver/api/v3rpc/rpctypes, and part of etcd's interface: other
 * clients compare them as well.
 */
#include "etcd_client_internal.h"

#include <stdio.h>
#include <string.h>

static const char *word_of(ilk_status status)
{
    switch (status) {
    case ILK_ECONN: return "ILKDOWN";
    case ILK_ENOQUORUM: return "NOQUORUM";
    case ILK_EAUTH: return "DENIED";
    case ILK_ESERVERBUSY: return "BUSY";
    case ILK_ESERVERMEMORY: return "OOM";
    case ILK_EINVAL: return "ILKINVALID";
    default: return "ERR";
    }
}

void ilk__etcd_fail_with(ilk__etcd_failure *out, ilk_status status,
                         int may_have_run, const char *text)
{
    *out = (ilk__etcd_failure){.status = status, .may_have_run = may_have_run};
    snprintf(out->text, sizeof out->text, "%s %s", word_of(status), text);
}

/* ---- by gRPC's code -------------------------------------------------------- */

static int says(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* The server did not, or cannot, reach the others. It answers "no leader" before it
 * proposes anything. */
static void unavailable(ilk__etcd_failure *out, const char *text)
{
    out->status = ILK_ECONN;
    if (says(text, "no leader") || says(text, "timed out")
        || says(text, "leader changed") || says(text, "not leader")) {
        out->status = ILK_ENOQUORUM;
        out->leaderless = 1;
    }
    out->may_have_run = !says(text, "etcdserver: no leader");
}

static void invalid(ilk__etcd_failure *out, const char *text)
{
    if (says(text, "user name is empty") || says(text, "authentication failed"))
        out->status = ILK_EAUTH;
    if (says(text, "revision of auth store is old"))
        out->wants_login = 1;
}

void ilk__etcd_fail_by_code(ilk__etcd_failure *out, int code, const char *text,
                            const char *where)
{
    char whole[ILK_ERROR_MAX];

    *out = (ilk__etcd_failure){.status = ILK_ESERVER};
    switch (code) {
    case ILK__GRPC_UNAVAILABLE: unavailable(out, text); break;
    case ILK__GRPC_INVALID_ARGUMENT: invalid(out, text); break;
    case ILK__GRPC_UNAUTHENTICATED:
        out->status = ILK_EAUTH;
        out->wants_login = 1;
        break;
    case ILK__GRPC_PERMISSION_DENIED: out->status = ILK_EAUTH; break;
    case ILK__GRPC_NOT_FOUND: out->is_gone = says(text, "lease"); break;
    case ILK__GRPC_OUT_OF_RANGE:
        out->is_gone = says(text, "has been compacted");
        break;
    case ILK__GRPC_RESOURCE_EXHAUSTED:
        if (says(text, "too many requests"))
            out->status = ILK_ESERVERBUSY;
        if (says(text, "space exceeded"))
            out->status = ILK_ESERVERMEMORY;
        break;
    case ILK__GRPC_CANCELLED:
    case ILK__GRPC_DEADLINE_EXCEEDED:
        out->status = ILK_ECONN;
        out->may_have_run = 1;
        break;
    case ILK__GRPC_FAILED_PRECONDITION:
    case ILK__GRPC_UNIMPLEMENTED: break;
    default: out->may_have_run = 1; break;
    }
    snprintf(whole, sizeof whole, "etcd at %.80s: %.150s (%s)", where,
             *text ? text : "no reason given", ilk__grpc_code_name(code));
    snprintf(out->text, sizeof out->text, "%s %s", word_of(out->status), whole);
}

/* ---- by the end of a stream ------------------------------------------------ */

static void by_http_status(ilk__etcd_failure *out, int status,
                           const char *where)
{
    char text[ILK_ERROR_MAX];
    int passes = status == 429 || (status >= 502 && status <= 504);

    snprintf(text, sizeof text,
             "the server at %.80s answered with HTTP status %d and not as "
             "etcd does%s",
             where, status,
             passes ? "" : ": is this the client port of etcd 3.4 or later?");
    ilk__etcd_fail_with(out, passes ? ILK_ECONN : ILK_ESERVER, passes, text);
}

void ilk__etcd_fail_by_stream(ilk__etcd_failure *out,
                              const ilk__grpc_stream *stream, const char *where)
{
    char text[ILK_ERROR_MAX];

    if (stream->code > 0) {
        ilk__etcd_fail_by_code(out, stream->code, stream->message, where);
        return;
    }
    if (stream->no_memory) {
        ilk__etcd_fail_with(out, ILK_ENOMEM, 1, "no memory for etcd's answer");
        return;
    }
    if (stream->http_status
        && (stream->http_status != 200 || !stream->is_grpc)) {
        by_http_status(out, stream->http_status, where);
        return;
    }
    if (stream->code == 0)
        snprintf(text, sizeof text, "etcd at %.80s ended without an answer",
                 where);
    else
        snprintf(text, sizeof text,
                 "etcd at %.80s broke a call off (HTTP/2 error %u)", where,
                 (unsigned)stream->http_error);
    ilk__etcd_fail_with(out, stream->code == 0 ? ILK_EREPLY : ILK_ECONN,
                        stream->was_sent && !stream->was_refused, text);
}

void ilk__etcd_fail_by_reason(ilk__etcd_failure *out, ilk__span reason,
                              const char *where)
{
    char text[ILK__GRPC_MESSAGE_TEXT];
    int code = ILK__GRPC_UNKNOWN;

    ilk__grpc_decode_message(text, sizeof text, reason);
    if (says(text, "invalid auth token"))
        code = ILK__GRPC_UNAUTHENTICATED;
    else if (says(text, "revision of auth store is old")
             || says(text, "user name is empty"))
        code = ILK__GRPC_INVALID_ARGUMENT;
    else if (says(text, "permission denied"))
        code = ILK__GRPC_PERMISSION_DENIED;
    else if (says(text, "no leader"))
        code = ILK__GRPC_UNAVAILABLE;
    else if (says(text, "compacted"))
        code = ILK__GRPC_OUT_OF_RANGE;
    ilk__etcd_fail_by_code(out, code, *text ? text : "the watch was cancelled",
                           where);
}
