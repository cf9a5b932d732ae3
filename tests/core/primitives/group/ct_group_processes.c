/* SPDX-License-Identifier: MIT */
/* ct_group_processes.c -- members whose processes are killed and frozen. */
#include "fork_case.h"
#include "state_case.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

AROUND_ALL(state_setup, state_teardown);

enum { TTL = 600 };

/* A member that is a process: 'j' joined, then 'l' when it is lost, and 'n' when
 * its update and its leave were refused as well. */
typedef struct party_member {
    pid_t pid;
    int reports;
} party_member;

static void say(int fd, char what)
{
    demand(write(fd, &what, 1) == 1);
}

static void live_as_member(const char *group, const char *id, int fd)
{
    ilk_client *own = open_client();
    ilk_member *member = join_group(own, group, id, TTL);

    say(fd, 'j');
    while (ilk_member_held(member))
        usleep(5000);
    say(fd, 'l');
    demand(ilk_member_update(member, "late", 4, NULL) == ILK_ELOST);
    demand(ilk_member_leave(member, NULL) == ILK_ELOST);
    say(fd, 'n');
    ilk_member_free(member);
    ilk_client_free(own);
    _exit(0);
}

static party_member start_member(const char *group, const char *id)
{
    party_member member;
    int fds[2];

    assert_int_equal(0, pipe(fds));
    member.pid = fork_now();
    if (member.pid == 0) {
        close(fds[0]);
        live_as_member(group, id, fds[1]);
    }
    close(fds[1]);
    member.reports = fds[0];
    return member;
}

static void assert_report(char expected, const party_member *member)
{
    struct pollfd fd = {.fd = member->reports, .events = POLLIN};
    char what = '?';

    assert_int_equal(1, poll(&fd, 1, 20000));
    assert_int_equal(1, read(member->reports, &what, 1));
    assert_int_equal(expected, what);
}

static void end_member(party_member *member)
{
    kill(member->pid, SIGKILL);
    assert_int_equal(member->pid, waitpid(member->pid, NULL, 0));
    close(member->reports);
}

/* Waits until this is the next change. Returns when it came. */
static int64_t await_change(ilk_group *group, ilk_member_change change,
                            const char *id)
{
    ilk_members *members = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_group_watch(&members, group, 20000, &err));
    assert_int_equal(1, ilk_members_count(members));
    assert_int_equal(change, ilk_members_change(members, 0));
    assert_string_equal(id, ilk_members_id(members, 0, NULL));
    ilk_members_free(members);
    return fixture_now_ms();
}

static ilk_group *open_watcher(const char *name)
{
    ilk_group *group = open_group(client, name);
    ilk_members *members = NULL;
    ilk_error err = {0};

    assert_status(ILK_OK, ilk_group_watch(&members, group, 0, &err));
    ilk_members_free(members);
    return group;
}

TEST(a_killed_member_is_out_when_its_lease_ends)
{
    ilk_group *group = open_watcher("killed");
    party_member a = start_member("killed", "a");
    int64_t killed_at;

    assert_report('j', &a);
    (void)await_change(group, ILK_MEMBER_JOINED, "a");
    fixture_sleep_ms(TTL);
    killed_at = fixture_now_ms();
    end_member(&a);
    assert_in_range(await_change(group, ILK_MEMBER_LEFT, "a") - killed_at, 0,
                    TTL + patience(700));
    ilk_group_free(group);
}

TEST(a_frozen_member_is_replaced_and_does_no_harm)
{
    ilk_group *group = open_watcher("frozen");
    party_member a = start_member("frozen", "a");
    ilk_member *second;
    ilk_members *members = NULL;
    ilk_error err = {0};

    assert_report('j', &a);
    (void)await_change(group, ILK_MEMBER_JOINED, "a");
    assert_int_equal(0, kill(a.pid, SIGSTOP));
    (void)await_change(group, ILK_MEMBER_LEFT, "a");
    second = join_group(other, "frozen", "a", 60000);
    (void)await_change(group, ILK_MEMBER_JOINED, "a");

    assert_int_equal(0, kill(a.pid, SIGCONT));

    assert_report('l', &a);
    assert_report('n', &a);
    assert_int_equal(a.pid, waitpid(a.pid, NULL, 0));
    close(a.reports);
    assert_status(ILK_EBUSY, ilk_group_watch(&members, group, 0, &err));
    assert_status(ILK_OK, ilk_member_update(second, "x", 1, &err));
    ilk_member_free(second);
    ilk_group_free(group);
}
