/* SPDX-License-Identifier: MIT */
/* ct_embedded_home.c -- directories and programs, right and wrong. */
#include "embedded_case.h"
#include "fixture.h"

#include "base/clock.h"
#include "embedded/embedded_home.h"
#include "net/dial.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

AROUND_EACH(embedded_setup, embedded_teardown);

TEST(the_directory_and_the_socket_are_the_users_alone)
{
    ilk__embedded *embedded = attach(NULL);
    ilk_server_info info = look();
    struct stat dir, socket;

    assert_int_equal(stat(info.dir, &dir), 0);
    assert_int_equal(stat(info.socket, &socket), 0);
    assert_int_equal(dir.st_mode & 0777, 0700);
    assert_int_equal(socket.st_mode & 077, 0);
    ilk__embedded_detach(embedded);
}

TEST(directories_of_others_are_refused)
{
    assert_int_equal(mkdir(in_tmp("open"), 0700), 0);
    assert_int_equal(chmod(in_tmp("open"), 0755), 0);
    assert_fails(in_tmp("open"), 1000, ILK_ESYSTEM, "mode 755");
    assert_int_equal(mkdir(in_tmp("real"), 0700), 0);
    assert_int_equal(symlink("real", in_tmp("link")), 0);
    assert_fails(in_tmp("link"), 1000, ILK_ESYSTEM, "cannot open");
    assert_fails(in_tmp("none/below"), 1000, ILK_ESYSTEM, "cannot make");
    assert_fails("relative", 1000, ILK_EINVAL, "absolute");
    if (geteuid() == 0) {
        assert_int_equal(mkdir(in_tmp("foreign"), 0700), 0);
        assert_int_equal(chown(in_tmp("foreign"), 4242, 4242), 0);
        assert_fails(in_tmp("foreign"), 1000, ILK_ESYSTEM, "user 4242");
    }
}

/* A directory for this user in a parent of this mode and owner. */
static const char *below(mode_t mode, uid_t owner, gid_t group)
{
    static int count;
    static char dir[128];

    snprintf(dir, sizeof dir, "%s/parent%d", tmp, count++);
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(chown(dir, owner, group), 0);
    assert_int_equal(chmod(dir, mode), 0);
    assert_int_equal(mkdir(strcat(dir, "/own"), 0700), 0);
    return dir;
}

TEST(a_parent_where_others_rename_is_refused)
{
    const char *dir = below(0707, geteuid(), getegid());
    ilk_server_info info = {.size = sizeof info};
    char url[160];
    ilk_error err;

    assert_fails(dir, 1000, ILK_ESYSTEM, "may write to");
    snprintf(url, sizeof url, "embedded://%s", dir);
    assert_int_equal(ilk_server_status(url, &info, &err), ILK_ESYSTEM);
    assert_non_null(strstr(err.msg, "chmod go-w"));
    ilk__embedded_detach(attach(below(01777, geteuid(), getegid())));
    if (geteuid() != 0)
        return;
    assert_fails(below(0770, 0, 4242), 1000, ILK_ESYSTEM, "mode 770");
    ilk__embedded_detach(attach(below(0770, 0, 0)));
    assert_fails(below(0700, 4242, 0), 1000, ILK_ESYSTEM,
                 "user 4242 could replace");
    assert_fails(below(01777, 4242, 0), 1000, ILK_ESYSTEM,
                 "user 4242 could replace");
}

TEST(a_parent_behind_a_link_is_judged_where_it_is)
{
    ilk__embedded *embedded;

    assert_int_equal(mkdir(in_tmp("loose"), 0700), 0);
    assert_int_equal(chmod(in_tmp("loose"), 0777), 0);
    assert_int_equal(mkdir(in_tmp("loose/inner"), 0700), 0);
    assert_int_equal(symlink("loose/inner", in_tmp("in")), 0);
    assert_fails(in_tmp("in/own"), 1000, ILK_ESYSTEM, "may write to");
    assert_int_equal(mkdir(in_tmp("tight"), 0700), 0);
    assert_int_equal(symlink("tight", in_tmp("to")), 0);
    embedded = attach(in_tmp("to/own"));
    assert_string_equal(ilk__embedded_socket(embedded),
                        in_tmp("tight/own/socket"));
    ilk__embedded_detach(embedded);
}

/* The watcher connects, too, so the backlog may be full. */
static ilk_status dial(int server, const char *path, int same_user, int *out_fd)
{
    ilk_status st;

    while ((st = ilk__dial_path(out_fd, path, same_user, NULL)) == ILK_EBUSY)
        close(accept(server, NULL, NULL));
    return st;
}

/* Act as a server of another user, whose socket stands in our directory: the
 * kernel records who calls listen(). */
TEST(a_server_of_another_user_gets_no_command)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    ilk__home home;
    char byte;
    int fd, served, alive;

    if (geteuid() != 0)
        skip_because("only root can listen as another user");
    assert_int_equal(ilk__home_open(&home, NULL, 1, NULL), ILK_OK);
    alive = ilk__home_try(&home, "alive", LOCK_EX);
    assert_true(alive >= 0);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    strcpy(address.sun_path, home.socket);
    assert_int_equal(
        bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(seteuid(4242), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(seteuid(0), 0);
    assert_fails(NULL, 5000, ILK_ECONN, "runs as another user");
    served = accept(fd, NULL, NULL);
    assert_true(served >= 0);
    assert_int_equal(read(served, &byte, 1), 0); /* closed, nothing sent */
    close(served);
    assert_int_equal(dial(fd, home.socket, 1, &served), ILK_ECONN);
    assert_int_equal(served, -1);
    assert_int_equal(dial(fd, home.socket, 0, &served), ILK_OK);
    close(served);
    close(fd);
    close(alive);
    ilk__home_close(&home);
}

TEST(the_server_follows_no_link_for_its_pid_file)
{
    struct stat info;
    ilk__embedded *embedded;
    char dir[sizeof((ilk_server_info *)0)->dir];

    ilk__embedded_detach(attach(NULL));
    snprintf(dir, sizeof dir, "%.200s/pid", look().dir);
    unlink(dir);
    assert_int_equal(symlink(in_tmp("victim"), dir), 0);
    embedded = attach(NULL);
    assert_true(look().pid > 1);
    assert_int_equal(lstat(dir, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    assert_int_equal(access(in_tmp("victim"), F_OK), -1);
    ilk__embedded_detach(embedded);
}

/* Root may write everywhere, so the test is done by somebody else. */
TEST(an_unwritable_directory_is_reported)
{
    int status;
    pid_t pid;

    assert_int_equal(mkdir(in_tmp("sealed"), 0500), 0);
    assert_int_equal(chmod(tmp, 0755), 0);
    if (geteuid() == 0)
        assert_int_equal(chown(in_tmp("sealed"), 4242, 4242), 0);
    if ((pid = fork()) == 0) {
        ilk_error err = {0};
        ilk__embedded *embedded;

        if (geteuid() == 0 && setuid(4242) != 0)
            _exit(2);
        if (ilk__embedded_attach(&embedded, in_tmp("sealed"),
                                 ilk__deadline(1000), &err)
            != ILK_ESYSTEM)
            _exit(3);
        _exit(strstr(err.msg, "Permission denied") != NULL ? 0 : 4);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

TEST(a_path_too_long_for_a_socket_is_reported)
{
    char dir[200];

    snprintf(dir, sizeof dir, "%s/%0*d", tmp, 120, 7);
    assert_fails(dir, 1000, ILK_ESYSTEM, "at most 100 bytes, got");
}

TEST(a_missing_program_is_named)
{
    unsetenv("INTERLOCK_SERVER");
    setenv("PATH", tmp, 1);
    assert_fails(NULL, 1000, ILK_ECONN, "redis-server nor valkey-server");
    setenv("INTERLOCK_SERVER", "/nonexistent/server", 1);
    assert_fails(NULL, 1000, ILK_ECONN, "/nonexistent/server");
    assert_string_equal(look().program, "");
}

static void write_program(const char *name, const char *text)
{
    int fd = open(in_tmp(name), O_WRONLY | O_CREAT | O_TRUNC, 0700);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    setenv("INTERLOCK_SERVER", in_tmp(name), 1);
}

TEST(a_program_that_fails_is_reported_with_its_status)
{
    write_program("failing", "#!/bin/sh\nexit 3\n");
    assert_fails(NULL, 5000, ILK_ECONN, "status 3; see ");
    write_program("ending", "#!/bin/sh\nexit 0\n");
    assert_fails(NULL, 5000, ILK_ECONN, "ended at once");
    write_program("broken", "#!/nonexistent/interpreter\n");
    assert_fails(NULL, 5000, ILK_ECONN, "cannot start");
}

TEST(a_program_that_is_no_server_is_ended_at_the_deadline)
{
    int64_t before = ilk__now_ms();

    write_program("sleeper", "#!/bin/sh\nexec sleep 30\n");
    assert_fails(NULL, 200, ILK_ECONN, "does not answer");
    assert_in_range(ilk__now_ms() - before, 200, 200 + patience(400));
    assert_int_equal(look().running, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

TEST(the_runtime_directory_counts_when_it_is_ours)
{
    ilk_server_info info;

    assert_int_equal(mkdir(in_tmp("run"), 0700), 0);
    setenv("XDG_RUNTIME_DIR", in_tmp("run"), 1);
    info = look();
    assert_string_equal(info.dir, in_tmp("run/interlock"));
    setenv("XDG_RUNTIME_DIR", in_tmp("missing"), 1);
    info = look();
    assert_int_equal(strncmp(info.dir, in_tmp("interlock-"), strlen(tmp) + 11),
                     0);
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(in_tmp("run"), 4242, 4242), 0);
    setenv("XDG_RUNTIME_DIR", in_tmp("run"), 1);
    info = look();
    assert_int_equal(strncmp(info.dir, in_tmp("interlock-"), strlen(tmp) + 11),
                     0);
}
