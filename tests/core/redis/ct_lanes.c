/* SPDX-License-Identifier: MIT */
/* ct_lanes.c -- which lane a call takes, the order of commands over several lanes,
 * and lanes that are opened while others carry the calls. */
#include "redis/lanes.h"

#include "base/clock.h"
#include "redis/expected_reply.h"
#include "server_case.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

AROUND_ALL(server_setup, server_teardown);

enum { THREADS = 8, SOON_MS = 50 };

static ilk__lanes *lanes;
static ilk__url url;
static ilk__target target;

static int open_lanes(void)
{
    fixture_command(&fx, "FLUSHALL");
    fixture_command(&fx, "CONFIG RESETSTAT");
    assert_int_equal(ilk__url_parse(&url, fx.unix_url, NULL), ILK_OK);
    target =
        (ilk__target){.url = &url, .name = "lanes", .connect_timeout_ms = 2000};
    lanes = ilk__lanes_new(&target);
    assert_non_null(lanes);
    return 0;
}

static int close_lanes(void)
{
    /* a test that failed may have left these */
    (void)fixture_resume(&fx);
    fixture_command(&fx, "CLIENT UNPAUSE");
    fixture_command(&fx, "CONFIG SET maxclients 1000");
    if (lanes)
        ilk__lanes_shut(lanes);
    ilk__lanes_free(lanes);
    lanes = NULL;
    ilk__url_free(&url);
    return 0;
}

AROUND_EACH(open_lanes, close_lanes);

static ilk__traffic traffic(void)
{
    ilk__traffic now = {0};

    ilk__lanes_add_traffic(lanes, &now);
    return now;
}

/* ---- calls -------------------------------------------------------------- */

/* Append `text` to the list `name`, in a script whose reply has the number of its
 * request, as all of the library's have. */
static void fill(ilk__command *command, const char *name, const char *text)
{
    _Static_assert(ILK__CODE_LIMIT == 64, "as in the script");
    ilk__command_init(command);
    ilk__command_add_str(command, "EVAL");
    ilk__command_add_str(command, "redis.call('RPUSH', KEYS[1], ARGV[1]) "
                                  "return {tonumber(ARGV[2]) * 64}");
    ilk__command_add_str(command, "1");
    ilk__command_add_str(command, name);
    ilk__command_add_str(command, text);
    command->replies = ILK__REPLIES_NUMBERED;
}

typedef struct call {
    const char *name, *text;
    int64_t timeout_ms;
    pthread_t thread;
    ilk_status status;
    ilk__lane *lane; /* that it took */
} call;

static ilk_status run(call *self)
{
    ilk__command command;
    ilk__lane_call request = {.command = &command,
                              .deadline = ilk__deadline(self->timeout_ms),
                              .patience = ilk__deadline(patience(20000)),
                              .pauses_until = ILK__FOREVER};
    ilk_error err = {0};

    fill(&command, self->name, self->text);
    self->status = ilk__lanes_call(lanes, &request, &err);
    self->lane = request.lane;
    ilk__reply_free(request.reply);
    ilk__command_free(&command);
    return self->status;
}

static void *run_in_thread(void *context)
{
    (void)run(context);
    return NULL;
}

/* Returns when its command is on the way. */
static void start(call *self)
{
    const int64_t before = traffic().commands;
    const int64_t limit = fixture_now_ms() + patience(5000);

    assert_int_equal(pthread_create(&self->thread, NULL, run_in_thread, self),
                     0);
    while (traffic().commands == before) {
        assert_true(fixture_now_ms() < limit);
        fixture_sleep_ms(1);
    }
}

/* The lane that a call of this name takes. It may end without a reply. */
static ilk__lane *lane_of(const char *name, int64_t timeout_ms)
{
    call one = {.name = name, .text = "x", .timeout_ms = timeout_ms};

    (void)run(&one);
    return one.lane;
}

static ilk_status push(const char *name, const char *text)
{
    call one = {.name = name, .text = text, .timeout_ms = patience(10000)};

    return run(&one);
}

/* ---- threads ------------------------------------------------------------ */

static _Atomic int failures, stop;

static void *keep_calling(void *context)
{
    while (!stop)
        if (push(context, "x"))
            atomic_fetch_add(&failures, 1);
    return NULL;
}

/* Call in several threads at once until `enough` says so. */
static void call_at_once(int (*enough)(void))
{
    static const char *const names[THREADS] = {"a", "b", "c", "d",
                                               "e", "f", "g", "h"};
    const int64_t limit = fixture_now_ms() + patience(20000);
    pthread_t threads[THREADS];

    failures = stop = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, keep_calling,
                                        (void *)(uintptr_t)names[i]),
                         0);
    while (!enough() && fixture_now_ms() < limit)
        fixture_sleep_ms(1);
    stop = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static int all_are_up(void)
{
    return traffic().connected == ILK__LANES;
}

static void open_all(void)
{
    assert_int_equal(push("a", "x"), ILK_OK);
    call_at_once(all_are_up);
    assert_int_equal(traffic().connected, ILK__LANES);
    assert_int_equal(failures, 0);
}

/* Calls wait for their replies from here on, and the fixture's do not. */
static void hold_scripts(void)
{
    assert_string_equal(fixture_command(&fx, "CLIENT PAUSE 60000 WRITE"), "OK");
}

static void release_scripts(void)
{
    assert_string_equal(fixture_command(&fx, "CLIENT UNPAUSE"), "OK");
}

/* ---- which lane --------------------------------------------------------- */

TEST(one_thread_needs_one_lane)
{
    for (int i = 0; i < 100; i++)
        assert_int_equal(push(i % 2 ? "a" : "b", "x"), ILK_OK);
    assert_int_equal(traffic().connects, 1);
}

TEST(threads_that_call_at_once_open_more)
{
    open_all();
    assert_int_equal(traffic().connects, ILK__LANES);
}

TEST(a_call_takes_a_lane_that_nobody_is_on)
{
    call busy = {.name = "busy", .text = "x", .timeout_ms = patience(10000)};
    ilk__lane *first;

    open_all();
    first = lane_of("a", patience(10000));
    hold_scripts();
    start(&busy);

    assert_ptr_not_equal(lane_of("a", SOON_MS), first);

    release_scripts();
    pthread_join(busy.thread, NULL);
    assert_int_equal(busy.status, ILK_OK);
    assert_ptr_equal(busy.lane, first);
}

static int many_calls_were_made(void)
{
    return traffic().commands > 2000;
}

enum { MANY = 16 };

TEST(many_calls_share_the_first_lane)
{
    static const char *const names[MANY] = {"a", "b", "c", "d", "e", "f",
                                            "g", "h", "i", "j", "k", "l",
                                            "m", "n", "o", "p"};
    static call calls[MANY];
    ilk__lane *one_more;

    open_all();
    hold_scripts();
    for (int i = 0; i < MANY; i++) {
        int is_short = i > 0 && i < ILK__LANES;

        calls[i] = (call){.name = names[i],
                          .text = "x",
                          .timeout_ms = patience(is_short ? SOON_MS : 10000)};
        start(&calls[i]);
    }
    for (int i = 1; i < ILK__LANES; i++) /* these leave the other lanes */
        pthread_join(calls[i].thread, NULL);

    one_more = lane_of("q", SOON_MS);
    release_scripts();
    for (int i = 0; i < MANY; i++)
        if (i == 0 || i >= ILK__LANES)
            pthread_join(calls[i].thread, NULL);

    assert_ptr_equal(one_more, calls[0].lane);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(calls[i].lane != calls[0].lane,
                         i > 0 && i < ILK__LANES);
}

/* As to a gateway, which is in this process. */
static ilk_status connect_here(void *context, int *out_fd, ilk_error *err)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};

    (void)context;
    memcpy(to.sun_path, fx.socket, strlen(fx.socket));
    *out_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*out_fd < 0 || connect(*out_fd, (struct sockaddr *)&to, sizeof to))
        return ilk__fail(err, ILK_ESYSTEM, "no socket");
    return ILK_OK;
}

TEST(a_gateway_has_one_lane)
{
    ilk__lanes_free(lanes);
    target.connect = connect_here;
    lanes = ilk__lanes_new(&target);
    assert_non_null(lanes);

    call_at_once(many_calls_were_made);
    assert_int_equal(failures, 0);
    assert_int_equal(traffic().connects, 1);
}

/* ---- the order ---------------------------------------------------------- */

/* All lanes are up, and scripts are held. Two calls give up: the one of "first" on the
 * first lane, that of "name" on another one, which is returned. */
static ilk__lane *give_up_on_two(void)
{
    call busy = {
        .name = "first", .text = "x", .timeout_ms = patience(4 * SOON_MS)};
    ilk__lane *lane;

    open_all();
    hold_scripts();
    start(&busy);
    lane = lane_of("name", SOON_MS);
    pthread_join(busy.thread, NULL);
    assert_int_equal(busy.status, ILK_ETIMEOUT);
    assert_ptr_not_equal(lane, busy.lane);
    return lane;
}

TEST(a_name_stays_on_the_lane_of_its_unanswered_command)
{
    ilk__lane *other;

    other = give_up_on_two();

    assert_ptr_not_equal(lane_of("another", SOON_MS), other);
    assert_ptr_equal(lane_of("name", SOON_MS), other);
    assert_ptr_equal(lane_of("name", SOON_MS), other);

    release_scripts();
    assert_int_equal(push("name", "last"), ILK_OK);
    assert_string_equal(fixture_command(&fx, "LRANGE name 0 -1"),
                        "x\nx\nx\nlast");
    assert_ptr_not_equal(lane_of("name", patience(10000)), other);
}

TEST(a_command_that_is_only_sent_is_executed_first)
{
    ilk__command command;

    (void)give_up_on_two();
    fill(&command, "name", "sent");
    assert_int_equal(ilk__lanes_send_only(lanes, &command, NULL), ILK_OK);
    ilk__command_free(&command);
    release_scripts();

    assert_int_equal(push("name", "last"), ILK_OK);
    assert_string_equal(fixture_command(&fx, "LRANGE name 0 -1"),
                        "x\nsent\nlast");
}

TEST(a_lane_that_broke_with_commands_comes_up_first)
{
    ilk__lane *other;
    int64_t before;

    other = give_up_on_two();
    before = traffic().commands;
    assert_int_equal(fixture_pause(&fx), 0);
    ilk__lane_distrust(other);
    assert_true(ilk__lane_is_unsettled(other));

    (void)lane_of("another", SOON_MS); /* nobody can log in */
    assert_true(ilk__lane_is_unsettled(other));
    assert_int_equal(traffic().commands, before);

    assert_int_equal(fixture_resume(&fx), 0);
    (void)lane_of("another", patience(SOON_MS));
    assert_false(ilk__lane_is_unsettled(other));
    assert_int_equal(traffic().commands, before + 1);

    release_scripts();
    assert_int_equal(push("another", "last"), ILK_OK);
    assert_string_equal(fixture_command(&fx, "LRANGE another 0 -1"), "x\nlast");
    assert_string_equal(fixture_command(&fx, "LLEN name"), "0");
}

TEST(nothing_is_only_sent_before_a_broken_lane_is_up)
{
    ilk__command command;
    ilk__lane *other;

    other = give_up_on_two();
    ilk__lane_distrust(other);
    fill(&command, "another", "sent");
    assert_int_equal(ilk__lanes_send_only(lanes, &command, NULL), ILK_ECONN);
    ilk__command_free(&command);

    release_scripts();
    assert_int_equal(push("another", "x"), ILK_OK);
    assert_string_equal(fixture_command(&fx, "LRANGE another 0 -1"), "x");
}

TEST(a_lane_that_broke_while_idle_is_not_waited_for)
{
    ilk__lane *other;

    other = give_up_on_two();
    release_scripts();
    assert_int_equal(push("name", "x"), ILK_OK);
    assert_int_equal(push("first", "x"), ILK_OK);
    ilk__lane_distrust(other);
    assert_false(ilk__lane_is_unsettled(other));

    assert_int_equal(push("a", "x"), ILK_OK);
    assert_int_equal(traffic().connects, ILK__LANES);
    assert_int_equal(traffic().connected, ILK__LANES - 1);
}

/* Else each of them would fail a call. */
TEST(idle_lanes_are_left_with_the_one_that_broke)
{
    open_all();
    assert_int_equal(fixture_int(&fx, "CLIENT KILL TYPE normal SKIPME yes"),
                     ILK__LANES);
    assert_int_equal(push("a", "x"), ILK_ECONN);
    assert_int_equal(traffic().connected, 0);
    assert_int_equal(push("a", "x"), ILK_OK);
    call_at_once(all_are_up);
    assert_int_equal(failures, 0);
    assert_int_equal(traffic().connected, ILK__LANES);
}

TEST(lanes_that_are_up_carry_the_calls_of_one_that_is_down)
{
    ilk__lane *first;

    open_all();
    first = lane_of("a", patience(10000));
    fixture_command(&fx, "CONFIG SET maxclients 1");
    ilk__lane_distrust(first);
    assert_ptr_not_equal(lane_of("a", patience(10000)), first);
    assert_int_equal(push("a", "x"), ILK_OK);
    call_at_once(many_calls_were_made);
    assert_int_equal(failures, 0);
    assert_int_equal(traffic().connected, ILK__LANES - 1);
}

typedef struct told {
    ilk__ensured ensured;
    _Atomic int ended;
} told;

static void is_told(ilk__ensured *ensured, ilk_status status)
{
    atomic_store(&((told *)ensured)->ended, status == ILK_OK ? 1 : -1);
}

static ilk_status judge_any(const ilk__ensured *ensured,
                            const ilk__reply *reply)
{
    (void)ensured;
    return reply->type == ILK__REPLY_ERROR ? ILK_ESERVER : ILK_OK;
}

/* Nobody calls over that lane again, unless all others are taken. */
TEST(the_reply_to_what_was_only_sent_is_read_by_calls_over_other_lanes)
{
    call busy = {.name = "busy", .text = "x", .timeout_ms = patience(10000)};
    static told sent;
    int64_t limit = fixture_now_ms() + patience(5000);
    ilk__command command;

    sent = (told){.ensured = {.ended = is_told, .judge = judge_any}};
    open_all();
    hold_scripts();
    start(&busy);
    fill(&command, "name", "sent");
    assert_int_equal(ilk__lanes_send_only(lanes, &command, &sent.ensured),
                     ILK_OK);
    ilk__command_free(&command);
    release_scripts();
    pthread_join(busy.thread, NULL);
    assert_int_equal(atomic_load(&sent.ended), 0);

    while (!atomic_load(&sent.ended) && fixture_now_ms() < limit)
        assert_ptr_equal(lane_of("a", patience(10000)), busy.lane);
    assert_int_equal(atomic_load(&sent.ended), 1);
}

/* ---- lanes that cannot be opened ---------------------------------------- */

TEST(a_server_that_takes_no_more_connections_fails_no_call)
{
    assert_int_equal(push("a", "x"), ILK_OK);
    assert_string_equal(fixture_command(&fx, "CONFIG SET maxclients 2"), "OK");
    call_at_once(many_calls_were_made);
    assert_int_equal(failures, 0);
    assert_int_equal(traffic().connected, 1);
    assert_null(
        strstr(fixture_command(&fx, "INFO stats"), "rejected_connections:0\r"));

    assert_string_equal(fixture_command(&fx, "CONFIG SET maxclients 1000"),
                        "OK");
    call_at_once(all_are_up);
    assert_int_equal(failures, 0);
    assert_int_equal(traffic().connected, ILK__LANES);
}

TEST(shutting_ends_all_lanes)
{
    open_all();
    ilk__lanes_shut(lanes);
    assert_int_equal(push("a", "x"), ILK_ECLOSED);
    assert_int_equal(push("b", "x"), ILK_ECLOSED);
    assert_int_equal(traffic().connected, 0);
}

static int open_files(void)
{
    DIR *all = opendir("/proc/self/fd");
    int n = 0;

    if (!all)
        return -1;
    while (readdir(all))
        n++;
    closedir(all);
    return n;
}

TEST(a_forked_child_closes_all_descriptors)
{
    int status;
    pid_t child;

    open_all();
    child = fork();
    if (child == 0) {
        const int before = open_files();

        ilk__lanes_abandon(lanes);
        _exit(before - open_files() == ILK__LANES ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(push("a", "x"), ILK_OK);
    assert_int_equal(traffic().connects, ILK__LANES);
}
