/* SPDX-License-Identifier: MIT */
/* queue_print.c -- messages and counts of a queue, on standard output. */
#include "queue.h"

#include "info.h"

#include <inttypes.h>
#include <string.h>

/* ---- messages ----------------------------------------------------------- */

static struct cli_bytes data_of(const ilk_job *job)
{
    struct cli_bytes data;

    data.data = ilk_job_data(job, &data.len);
    return data;
}

static void put_json(const struct cli_queue *with, const ilk_job *job)
{
    const char *reason = ilk_job_reason(job, NULL);
    struct cli_json json;

    cli_json_begin(&json, "queue", &with->name);
    cli_json_int(&json, "id", ilk_job_id(job));
    cli_json_int(&json, "attempts", ilk_job_attempts(job));
    cli_json_int(&json, "pushed_ms", ilk_job_pushed_ms(job));
    if (ilk_job_token(job)[0]) {
        cli_json_text(&json, "token", ilk_job_token(job));
        cli_json_int(&json, "lease_ms", ilk_job_remaining_ms(job));
    }
    if (reason[0])
        cli_json_text(&json, "reason", reason);
    cli_json_bytes(&json, "data", data_of(job));
    cli_json_end(&json);
}

struct taking {
    struct cli_queue *with;
    ilk_job *job;
};

static ilk_status take_once(void *subject, int64_t timeout_ms, ilk_error *err)
{
    struct taking *taking = subject;
    struct cli_queue *with = taking->with;

    if (strcmp(with->verb, "pop") == 0)
        return ilk_queue_pop(&taking->job, with->queue, timeout_ms, err);
    return ilk_queue_reserve(&taking->job, with->queue, timeout_ms,
                             with->lease_ms, err);
}

/* A token goes before the data, on a line of its own on standard error, so
   that a pipe gets the data as they are. */
static void put(const struct cli_queue *with, const ilk_job *job)
{
    if (with->args->json) {
        put_json(with, job);
        return;
    }
    if (strcmp(with->verb, "reserve") == 0)
        cli_say("token %s", ilk_job_token(job));
    cli_payload_put(data_of(job));
}

int cli_queue_take(struct cli_queue *with)
{
    struct taking taking = {.with = with};
    ilk_error err = {0, ""};
    ilk_status st =
        cli_wait(with->client, take_once, &taking, with->timeout_ms, &err);

    if (st == ILK_EINTR) {
        ilk_queue_cancel(with->queue, NULL);
        ilk_client_close(with->client, NULL);
        return cli_signals_status(cli_signals_ending());
    }
    if (st != ILK_OK)
        return cli_fail(st, &err);
    put(with, taking.job);
    ilk_job_free(taking.job);
    return CLI_OK;
}

static void put_line(const ilk_job *job)
{
    const char *reason = ilk_job_reason(job, NULL);
    struct cli_bytes data = data_of(job);

    printf("%" PRId64 "\t%d\t", ilk_job_id(job), (int)ilk_job_attempts(job));
    cli_put_text(stdout, data.data, data.len);
    if (reason[0]) {
        putchar('\t');
        cli_put_text(stdout, reason, strlen(reason));
    }
    putchar('\n');
}

int cli_queue_peek(struct cli_queue *with)
{
    int32_t where =
        strcmp(with->verb, "dead") == 0 ? ILK_QUEUE_DEAD : ILK_QUEUE_READY;
    ilk_error err = {0, ""};
    ilk_batch *batch = NULL;
    ilk_job *job = NULL;
    ilk_status st = ilk_queue_peek(&batch, with->queue, where, 0,
                                   (int32_t)with->count, &err);

    for (size_t i = 0; st == ILK_OK && i < ilk_batch_count(batch); i++) {
        st = ilk_batch_job(&job, batch, i, &err);
        if (st != ILK_OK)
            break;
        if (with->args->json)
            put_json(with, job);
        else
            put_line(job);
        ilk_job_free(job);
    }
    ilk_batch_free(batch);
    return st == ILK_OK ? CLI_OK : cli_fail(st, &err);
}

/* ---- counts ------------------------------------------------------------- */

static const char *const counts[] = {
    [ILK_QUEUE_N_READY] = "ready",       [ILK_QUEUE_N_DELAYED] = "delayed",
    [ILK_QUEUE_N_TAKEN] = "taken",       [ILK_QUEUE_N_DEAD] = "dead",
    [ILK_QUEUE_N_WAITING] = "waiting",   [ILK_QUEUE_N_PUSHED] = "pushed",
    [ILK_QUEUE_N_FINISHED] = "finished", [ILK_QUEUE_N_EXPIRED] = "expired",
    [ILK_QUEUE_N_RETURNED] = "returned", [ILK_QUEUE_N_BURIED] = "buried",
    [ILK_QUEUE_N_PURGED] = "purged",
};

enum { COUNTS = sizeof counts / sizeof counts[0] };

static const char *order_name(const ilk_queue_info *info)
{
    int64_t order = ilk_queue_info_get(info, ILK_QUEUE_N_ORDER);

    return order == ILK_QUEUE_FILO ? "filo" : order < 0 ? "unused" : "fifo";
}

static void show_json(const struct cli_queue *with, const ilk_queue_info *info)
{
    struct cli_json json;

    cli_json_begin(&json, "queue", &with->name);
    cli_json_text(&json, "order", order_name(info));
    for (int32_t i = 0; i < COUNTS; i++)
        cli_json_int(&json, counts[i], ilk_queue_info_get(info, i));
    cli_json_int(&json, "oldest_ms",
                 ilk_queue_info_get(info, ILK_QUEUE_N_OLDEST_MS));
    cli_json_end(&json);
}

static void show_text(const struct cli_queue *with, const ilk_queue_info *info)
{
    fputs("queue    ", stdout);
    cli_put_text(stdout, with->name.data, with->name.len);
    printf("\norder    %s\n", order_name(info));
    for (int32_t i = 0; i < COUNTS; i++)
        printf("%-8s %" PRId64 "\n", counts[i], ilk_queue_info_get(info, i));
    fputs("oldest   ", stdout);
    cli_put_duration(stdout, ilk_queue_info_get(info, ILK_QUEUE_N_OLDEST_MS));
    putchar('\n');
}

int cli_queue_show(struct cli_queue *with)
{
    ilk_error err = {0, ""};
    ilk_queue_info *info = NULL;
    ilk_status st = ilk_queue_inspect(&info, with->queue, &err);

    if (st != ILK_OK)
        return cli_fail(st, &err);
    if (with->args->json)
        show_json(with, info);
    else
        show_text(with, info);
    ilk_queue_info_free(info);
    return CLI_OK;
}
