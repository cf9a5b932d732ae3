/* SPDX-License-Identifier: MIT */
/* A queue of tasks, and workers: the task of one that died goes to another.
 *
 *   cc worker.c -o worker $(pkg-config --cflags --libs interlock)
 *   ./worker              in some terminals; Ctrl-C ends it
 *   ./worker Anna Ben     in another: two tasks
 *
 * A task is JSON, `["greet", ["Anna"]]`, which a JSON library writes and reads
 * in a real program. One that cannot be read lies among the dead, to be looked
 * at. */
#define _POSIX_C_SOURCE 200112L
#include <interlock.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char QUEUE[] = "greetings";
static volatile sig_atomic_t quit;

static void on_interrupt(int number)
{
    (void)number;
    quit = 1;
}

static ilk_status work(ilk_worker *worker, ilk_error *err)
{
    ilk_job *job = NULL;
    char who[64];
    ilk_status st = ilk_worker_next(&job, worker, 1000, err);

    if (st == ILK_ETIMEOUT || st == ILK_EINTR)
        return ILK_OK;
    if (st != ILK_OK)
        return st;
    if (sscanf(ilk_job_data(job, NULL), "[\"greet\", [\"%63[^\"]", who) == 1) {
        printf("hello %s\n", who);
        fflush(stdout);
        st = ilk_worker_done(worker, err);
    } else {
        st = ilk_worker_bury(worker, "no greeting", 11, err);
    }
    ilk_job_free(job);
    return st;
}

static ilk_status work_all(ilk_client *client, ilk_error *err)
{
    const void *names[] = {QUEUE};
    const size_t lens[] = {sizeof QUEUE - 1};
    struct sigaction act;
    ilk_worker *worker = NULL;
    ilk_status st =
        ilk_worker_open(&worker, client, names, lens, 1, NULL, NULL, err);

    memset(&act, 0, sizeof act);
    act.sa_handler = on_interrupt;
    sigaction(SIGINT, &act, NULL);
    while (st == ILK_OK && !quit)
        st = work(worker, err);
    if (st == ILK_OK)
        st = ilk_worker_finish(worker, err);
    ilk_worker_free(worker);
    return st;
}

static ilk_status push(ilk_client *client, const char *who, ilk_error *err)
{
    ilk_queue *queue = NULL;
    char task[128];
    ilk_status st =
        ilk_queue_open(&queue, client, QUEUE, sizeof QUEUE - 1, NULL, err);

    snprintf(task, sizeof task, "[\"greet\", [\"%.63s\"]]", who);
    if (st == ILK_OK)
        st = ilk_queue_push(NULL, queue, task, strlen(task), NULL, err);
    ilk_queue_free(queue);
    return st;
}

int main(int argc, char **argv)
{
    ilk_client *client = NULL;
    ilk_error err;
    ilk_status st = ilk_client_open(&client, NULL, NULL, &err);
    int i;

    if (st == ILK_OK && argc == 1)
        st = work_all(client, &err);
    for (i = 1; st == ILK_OK && i < argc; i++)
        st = push(client, argv[i], &err);
    if (st != ILK_OK)
        fprintf(stderr, "%s: %s\n", ilk_status_name(st), err.msg);
    ilk_client_free(client);
    return st == ILK_OK ? 0 : 1;
}
