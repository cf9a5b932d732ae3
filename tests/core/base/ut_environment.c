/* SPDX-License-Identifier: MIT */
/* ut_environment.c -- the environment of programs with more rights. */
#include "base/environment.h"

#include "fork_case.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#ifdef __linux__
#include <sys/auxv.h>
#endif

enum { NOT_SECURE = 77, OTHER_USER = 4242 };

TEST(an_ordinary_program_reads_its_environment)
{
    setenv("INTERLOCK_TEST", "yes", 1);
    assert_string_equal(ilk__environment("INTERLOCK_TEST"), "yes");
    unsetenv("INTERLOCK_TEST");
    assert_null(ilk__environment("INTERLOCK_TEST"));
}

#ifdef __linux__

/* The copy of this program does this. */
static int look(void)
{
    if (!getauxval(AT_SECURE))
        return NOT_SECURE; /* the file system ignores the mode */
    if (getenv("INTERLOCK_TEST") == NULL)
        return 2;
    return ilk__environment("INTERLOCK_TEST") != NULL;
}

static void copy_program(const char *to)
{
    char bytes[65536];
    int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    ssize_t n;

    while ((n = read(in, bytes, sizeof bytes)) > 0)
        assert_int_equal(write(out, bytes, (size_t)n), n);
    assert_int_equal(n, 0);
    assert_int_equal(fchown(out, OTHER_USER, (gid_t)-1), 0);
    assert_int_equal(fchmod(out, 04755), 0);
    close(in);
    close(out);
}

TEST(a_program_with_more_rights_does_not)
{
    char dir[] = "/tmp/ilk-environment-XXXXXX", program[64];
    int status;
    pid_t pid;

    if (geteuid() != 0)
        skip_because("only root can make a program of another user");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chmod(dir, 0755), 0);
    strcat(strcpy(program, dir), "/program");
    copy_program(program);
    if ((pid = fork_now()) == 0) {
        setenv("INTERLOCK_TEST", "yes", 1);
        execl(program, program, "look", (char *)NULL);
        _exit(3);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    unlink(program);
    rmdir(dir);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_SECURE)
        skip_because("the file system ignores set-user-ID");
    assert_int_equal(WEXITSTATUS(status), 0);
}

#endif

int main(int argc, char **argv)
{
    (void)argv;
#ifdef __linux__
    if (argc > 1)
        _exit(look()); /* LeakSanitizer refuses to look at such a process */
#endif
    return test_run_all();
}
