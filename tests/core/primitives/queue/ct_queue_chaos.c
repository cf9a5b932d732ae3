/* SPDX-License-Identifier: MIT */
/*
 * ct_queue_chaos.c -- producers and consumers that are killed at any moment,
 * and a server that is killed under them.
 *
 * Four producers push numbered messages under request ids, four consumers
 * take, write down what they got, acknowledge, and write down what that
 * answered. Every 50 ms one of the eight is killed and replaced; the server,
 * which writes every command to its disk, is killed three times. In the end:
 *
 *   every message was got by somebody; none was acknowledged twice; the
 *   server says that all are finished and nothing lies anywhere; and each
 *   delivery beyond the first is one of its expired leases.
 *
 * $ILK_QUEUE_MESSAGES says how many there are, 10000 by default.
 */
#include "queue_case.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EACH = 4, GROUP = 10, LEASE_MS = 1500, KILLS_OF_SERVER = 3 };

/* Shared by all processes. */
typedef struct board {
    int messages;
    _Atomic int pushed[EACH]; /* groups that a producer has behind it */
    _Atomic int stop;
} board;

static board *all;
static char journal[160];
static unsigned seed;

/* ---- the processes ------------------------------------------------------ */

static void note(const char *text, size_t len)
{
    int fd = open(journal, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, text, len) != (ssize_t)len)
        _exit(3);
    close(fd);
}

/* A server that is away now will be back. */
static ilk_client *connect_patiently(void)
{
    ilk_client *made = NULL;

    while (ilk_client_open(&made, fx.unix_url, NULL, NULL))
        fixture_sleep_ms(10);
    return made;
}

static ilk_queue *open_own(void)
{
    ilk_queue *queue = NULL;

    if (ilk_queue_open(&queue, connect_patiently(), "mail", 4, NULL, NULL))
        _exit(4);
    return queue;
}

static void push_group(ilk_queue *queue, int first)
{
    char text[GROUP][16], id[24];
    const void *data[GROUP];
    size_t lens[GROUP];
    ilk_push_opts opts;

    for (int i = 0; i < GROUP; i++) {
        lens[i] = (size_t)snprintf(text[i], sizeof text[i], "%06d", first + i);
        data[i] = text[i];
    }
    ilk_push_opts_init(&opts, sizeof opts);
    opts.once = id;
    opts.once_len = (size_t)snprintf(id, sizeof id, "group %06d", first);
    while (ilk_queue_push_many(NULL, queue, data, lens, GROUP, &opts, NULL))
        fixture_sleep_ms(5);
}

/* Producer p has every fourth group. */
static void produce(int p)
{
    ilk_queue *queue = open_own();

    for (;;) {
        int group = all->pushed[p] * EACH + p;

        if (group * GROUP >= all->messages)
            _exit(0);
        push_group(queue, group * GROUP);
        all->pushed[p]++;
    }
}

static void note_got(ilk_batch *batch)
{
    char text[16 * 16];
    size_t len = 0;

    for (size_t i = 0; i < ilk_batch_count(batch); i++) {
        ilk_job *job = NULL;

        ilk_batch_job(&job, batch, i, NULL);
        len += (size_t)snprintf(text + len, sizeof text - len, "got %s\n",
                                ilk_job_data(job, NULL));
        ilk_job_free(job);
    }
    note(text, len);
}

static void ack_each(ilk_batch *batch)
{
    for (size_t i = 0; i < ilk_batch_count(batch); i++) {
        char text[24];
        ilk_job *job = NULL;
        ilk_status st;

        ilk_batch_job(&job, batch, i, NULL);
        while ((st = ilk_job_ack(job, NULL)) == ILK_ECONN)
            fixture_sleep_ms(5);
        if (st == ILK_OK) {
            int len = snprintf(text, sizeof text, "ack %s\n",
                               ilk_job_data(job, NULL));
            note(text, (size_t)len);
        }
        ilk_job_free(job);
    }
}

/* One by one, together, or with the next question. */
static void consume(unsigned chance)
{
    ilk_queue *queue = open_own();
    ilk_batch *batch = NULL, *before = NULL;

    while (!all->stop) {
        int32_t max = 1 + (int32_t)(rand_r(&chance) % 12);

        if (ilk_queue_reserve_many(&batch, queue, max, 200, LEASE_MS, before,
                                   NULL)) {
            fixture_sleep_ms(1);
            continue;
        }
        ilk_batch_free(before);
        before = NULL;
        note_got(batch);
        if (rand_r(&chance) % 3) {
            ack_each(batch);
            ilk_batch_free(batch);
        } else {
            before = batch;
        }
    }
    _exit(0);
}

static pid_t start(int role)
{
    pid_t pid = fork();

    if (pid == 0) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* when the test fails */
#endif
        if (role < EACH)
            produce(role);
        consume((unsigned)(getpid() + role));
    }
    assert_true(pid > 0);
    return pid;
}

/* ---- the run ------------------------------------------------------------ */

static int is_over(ilk_queue *queue)
{
    ilk_queue_info *info = NULL;
    int over;

    for (int p = 0; p < EACH; p++)
        if ((all->pushed[p] * EACH + p) * GROUP < all->messages)
            return 0;
    if (ilk_queue_inspect(&info, queue, NULL))
        return 0;
    over = ilk_queue_info_get(info, ILK_QUEUE_N_FINISHED) == all->messages;
    ilk_queue_info_free(info);
    return over;
}

static void kill_one(pid_t *pids)
{
    int role = (int)(rand_r(&seed) % (2 * EACH));
    int status;

    kill(pids[role], SIGKILL);
    waitpid(pids[role], &status, 0);
    pids[role] = start(role);
}

static void kill_server(void)
{
    assert_int_equal(0, fixture_kill(&fx));
    fixture_sleep_ms(20);
    assert_int_equal(0, fixture_restart(&fx));
}

static int run(ilk_queue *queue)
{
    pid_t pids[2 * EACH];
    int kills = 0, servers = 0;
    int64_t limit = fixture_now_ms() + patience(10000 + all->messages * 4);

    for (int role = 0; role < 2 * EACH; role++)
        pids[role] = start(role);
    while (!is_over(queue)) {
        assert_true(fixture_now_ms() < limit);
        fixture_sleep_ms(50);
        kill_one(pids);
        if (++kills % 15 == 0 && servers < KILLS_OF_SERVER) {
            kill_server();
            servers++;
        }
    }
    all->stop = 1;
    for (int role = 0; role < 2 * EACH; role++) {
        int status;

        kill(pids[role], SIGKILL);
        waitpid(pids[role], &status, 0);
    }
    return kills;
}

/* Lines of the journal: how often each message was got and acknowledged. */
static void count_lines(int *got, int *acked)
{
    FILE *file = fopen(journal, "r");
    char verb[8];
    int number;

    assert_non_null(file);
    while (fscanf(file, "%7s %d", verb, &number) == 2) {
        assert_in_range(number, 0, all->messages - 1);
        (strcmp(verb, "got") == 0 ? got : acked)[number]++;
    }
    fclose(file);
}

TEST(every_message_is_finished_once_whoever_dies)
{
    ilk_queue *queue = open_queue("mail");
    int messages = all->messages, again = 0, unseen = 0, twice = 0, kills;
    int *got = calloc((size_t)messages, sizeof *got);
    int *acked = calloc((size_t)messages, sizeof *acked);
    int64_t began = fixture_now_ms(), expired;

    kills = run(queue);
    count_lines(got, acked);
    for (int i = 0; i < messages; i++) {
        unseen += got[i] == 0;
        twice += acked[i] > 1;
        again += got[i] > 1 ? got[i] - 1 : 0;
    }
    expired = count_of(queue, ILK_QUEUE_N_EXPIRED);
    print_message("%d messages, %d kills, %d seen again, %lld leases expired, "
                  "%lld ms, seed %u\n",
                  messages, kills, again, (long long)expired,
                  (long long)(fixture_now_ms() - began), seed);

    assert_int_equal(0, unseen);
    assert_int_equal(0, twice);
    assert_int_equal(messages, count_of(queue, ILK_QUEUE_N_PUSHED));
    assert_int_equal(messages, count_of(queue, ILK_QUEUE_N_FINISHED));
    assert_int_equal(0, count_of(queue, ILK_QUEUE_N_TAKEN));
    assert_int_equal(0, count_of(queue, ILK_QUEUE_N_DEAD));
    assert_true(again <= expired);
    free(got);
    free(acked);
    ilk_queue_free(queue);
}

static int setup(void)
{
    const char *messages = getenv("ILK_QUEUE_MESSAGES");

    seed = (unsigned)time(NULL);
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED
        || fixture_start(&fx, "--appendonly yes --appendfsync always"))
        return -1;
    all->messages = messages ? atoi(messages) : 10000;
    snprintf(journal, sizeof journal, "%s/journal", fx.dir);
    client = open_client();
    return 0;
}

static int teardown(void)
{
    ilk_client_free(client);
    munmap(all, sizeof *all);
    return server_teardown();
}

AROUND_ALL(setup, teardown);
