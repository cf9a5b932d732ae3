/* SPDX-License-Identifier: MIT */
/*
 * demo_seller.c -- one seller of the demonstration, a process of its own.
 *
 *     acquire -> read the stock -> think -> write it back -> report -> release
 *
 * It reads under its fence, not only writes: from then on no former holder
 * can change what it has read.
 *
 * Three sellers have a fault: from a certain item on they stop once while they
 * hold the lock, report that, and wait for a byte on standard input. Two of
 * them are killed there. The third is frozen; thawed, it writes like a program
 * that did not notice its long sleep. Without a lock it writes without a fence.
 */
#include "demo.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { ARGS = 9, NOTIFIED_WITHIN_MS = 2000 };

struct seller {
    int number;
    int64_t items, think_ms, fault_item;
    enum demo_fault fault;
    int locked;
    const char *stock_key;
    ilk_client *client;
    ilk_lock *lock;
    int notification_fd;
    ilk_error err;
};

/* Without a reader there is nobody to sell for. */
static void report(const struct seller *seller, const struct demo_word *in)
{
    char line[2 * DEMO_WORD_MAX];
    struct demo_word word = *in;
    size_t len;
    ssize_t n;

    word.seller = seller->number;
    len = demo_word_put(line, sizeof line, &word);
    do
        n = write(STDOUT_FILENO, line, len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        _exit(CLI_OUTPUT);
}

static int fail(const struct seller *seller, ilk_status status)
{
    struct demo_word word = {.kind = DEMO_ERROR, .n = {status}};

    snprintf(word.text, sizeof word.text, "%s",
             seller->err.msg[0] ? seller->err.msg : ilk_strerror(status));
    word.text[strcspn(word.text, "\n")] = '\0';
    report(seller, &word);
    return CLI_FAILED;
}

/* A byte means go on; the end of the file means that the parent is gone. */
static void wait_for_word(void)
{
    char byte;
    ssize_t n;

    do
        n = read(STDIN_FILENO, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n != 1)
        _exit(CLI_FAILED);
}

static void meet_fate(struct seller *seller, enum demo_fault moment,
                      const struct demo_stock *sale)
{
    struct demo_word word = {.kind = DEMO_STALL,
                             .n = {sale->item, sale->fence}};

    if (seller->fault != moment || sale->item < seller->fault_item)
        return;
    seller->fault = DEMO_NONE;
    report(seller, &word);
    wait_for_word();
}

static void think(int64_t ms)
{
    struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* Whether the client has a notification that the lock was lost. */
static int is_notified_of_loss(const struct seller *seller)
{
    struct pollfd fd = {.fd = seller->notification_fd, .events = POLLIN};
    ilk_notification notification;

    memset(&notification, 0, sizeof notification);
    notification.size = sizeof notification;
    if (ilk_client_notification_fd(seller->client, &fd.fd, NULL) != ILK_OK
        || poll(&fd, 1, NOTIFIED_WITHIN_MS) != 1)
        return 0;
    return ilk_client_next_notification(seller->client, &notification, NULL)
               == ILK_OK
           && notification.kind == ILK_NOTIFICATION_LOCK_LOST
           && notification.id == ilk_lock_id(seller->lock);
}

static void report_late(struct seller *seller, const struct demo_stock *sale,
                        ilk_status write)
{
    struct demo_word word = {.kind = DEMO_LATE,
                             .n = {sale->item, sale->fence, write}};

    if (seller->locked) {
        word.n[4] = is_notified_of_loss(seller);
        word.n[3] = ilk_lock_check(seller->lock, NULL);
    }
    report(seller, &word);
}

static int64_t fence_of(const struct seller *seller)
{
    return seller->locked ? ilk_lock_fence(seller->lock) : 0;
}

static ilk_status write_stock(struct seller *seller,
                              const struct demo_stock *sale)
{
    char text[DEMO_WORD_MAX];
    size_t len = demo_stock_put(text, sizeof text, sale);

    return ilk_guard_set(seller->client, seller->stock_key,
                         strlen(seller->stock_key), sale->fence, text, len,
                         &seller->err);
}

static void report_sale(const struct seller *seller,
                        const struct demo_stock *sale,
                        const struct demo_stock *before)
{
    struct demo_word word = {.kind = DEMO_SALE,
                             .n = {sale->item, sale->fence, before->seller,
                                   before->item, before->fence}};

    report(seller, &word);
}

static void report_miss(const struct seller *seller, int64_t item,
                        int64_t fence)
{
    struct demo_word word = {.kind = DEMO_MISS, .n = {item, fence}};

    report(seller, &word);
}

/* Sell one item, holding the lock where there is one. A seller that knows
   of its loss writes nothing; the one that was frozen does not look. */
static ilk_status sell(struct seller *seller, const struct demo_stock *before)
{
    struct demo_stock sale = {before->left - 1, seller->number,
                              seller->items - before->left + 1,
                              fence_of(seller)};
    int was_frozen = seller->fault == DEMO_FREEZE;
    ilk_status st;

    think(seller->think_ms);
    meet_fate(seller, DEMO_KILL_BEFORE, &sale);
    meet_fate(seller, DEMO_FREEZE, &sale);
    was_frozen = was_frozen && seller->fault == DEMO_NONE;
    if (seller->locked && !was_frozen && !ilk_lock_held(seller->lock)) {
        report_miss(seller, sale.item, sale.fence);
        return ILK_OK;
    }
    st = write_stock(seller, &sale);
    if (st == ILK_OK) {
        meet_fate(seller, DEMO_KILL_AFTER, &sale);
        report_sale(seller, &sale, before);
    }
    if (was_frozen)
        report_late(seller, &sale, st);
    else if (st == ILK_ESTALE)
        report_miss(seller, sale.item, sale.fence);
    return st == ILK_ESTALE ? ILK_OK : st;
}

/* One turn. *out_more is 0 when there is nothing left to sell. */
static ilk_status serve(struct seller *seller, int *out_more)
{
    struct demo_stock before;
    ilk_status st = ILK_OK, released;

    *out_more = 1;
    if (seller->locked) {
        do
            st = ilk_lock_acquire(seller->lock, -1, &seller->err);
        while (st == ILK_EINTR);
    }
    if (st != ILK_OK)
        return st;
    st = demo_stock_read(&before, seller->client, seller->stock_key,
                         fence_of(seller), &seller->err);
    if (st == ILK_ESTALE) {
        /* The lease ran out on the way, and the next one has read. */
        report_miss(seller, 0, fence_of(seller));
        st = ILK_OK;
    } else {
        *out_more = st == ILK_OK && before.left > 0;
        if (*out_more)
            st = sell(seller, &before);
    }
    if (!seller->locked)
        return st;
    released = ilk_lock_release(seller->lock, &seller->err);
    /* Not ours any more: the loss was reported before. */
    if (st == ILK_OK && released != ILK_ELOST && released != ILK_ENOTOWNER)
        st = released;
    return st;
}

static int work(struct seller *seller)
{
    struct demo_word ready = {.kind = DEMO_READY};
    struct demo_word end = {.kind = DEMO_END};
    ilk_status st = ILK_OK;
    int more = 1;

    report(seller, &ready);
    wait_for_word();
    while (more && st == ILK_OK)
        st = serve(seller, &more);
    if (st != ILK_OK)
        return fail(seller, st);
    report(seller, &end);
    return CLI_OK;
}

/* Die with the parent, also when frozen or waiting. */
static void tie_to_parent(void)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

static void fill(struct seller *seller, ilk_lock_opts *opts,
                 const char *const *argv)
{
    memset(seller, 0, sizeof *seller);
    ilk_lock_opts_init(opts, sizeof *opts);
    seller->stock_key = argv[1];
    seller->number = (int)strtoll(argv[2], NULL, 10);
    seller->items = strtoll(argv[3], NULL, 10);
    seller->think_ms = strtoll(argv[4], NULL, 10);
    opts->ttl_ms = strtoll(argv[5], NULL, 10);
    seller->locked = (int)strtoll(argv[6], NULL, 10);
    seller->fault = (enum demo_fault)strtoll(argv[7], NULL, 10);
    seller->fault_item = strtoll(argv[8], NULL, 10);
}

static int run(struct cli_args *args)
{
    struct seller seller;
    ilk_lock_opts opts;
    const char *argv[ARGS];
    const char *value;
    ilk_status st;
    int i, status;

    tie_to_parent();
    if (cli_args_next(args, &value) != 0)
        return args->status;
    for (i = 0; i < ARGS; i++) {
        argv[i] = cli_args_word(args);
        if (!argv[i])
            return cli_usage(args, "'interlock demo' runs this");
    }
    fill(&seller, &opts, argv);
    st = ilk_client_open(&seller.client, NULL, NULL, &seller.err);
    if (st == ILK_OK)
        st = ilk_client_notification_fd(seller.client, &seller.notification_fd,
                                        &seller.err);
    if (st == ILK_OK)
        st = ilk_lock_open(&seller.lock, seller.client, argv[0],
                           strlen(argv[0]), &opts, &seller.err);
    status = st == ILK_OK ? work(&seller) : fail(&seller, st);
    ilk_lock_free(seller.lock);
    ilk_client_free(seller.client);
    return status;
}

static const struct cli_option options[] = {CLI_OPTION_HELP, CLI_OPTION_END};

const struct cli_command cli_demo_seller = {
    .name = "demo-seller",
    .synopsis = "...",
    .summary = "One seller of 'interlock demo', which runs this by itself.",
    .options = options,
    .run = run,
    .in_order = 1,
    .hidden = 1,
};
