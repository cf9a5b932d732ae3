/* SPDX-License-Identifier: MIT */
/* embedded_case.c -- what tests of the embedded server share. */
#include "embedded_case.h"

#include "base/clock.h"
#include "embedded/embedded_command.h"
#include "fixture.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

char tmp[64];
static char path[4096];

int embedded_setup(void)
{
    snprintf(tmp, sizeof tmp, "/tmp/ilk-embedded-XXXXXX");
    if (mkdtemp(tmp) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s", getenv("PATH"));
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("INTERLOCK_SERVER");
    if (getenv("ILK_TEST_SERVER") != NULL)
        setenv("INTERLOCK_SERVER", getenv("ILK_TEST_SERVER"), 1);
    return setenv("TMPDIR", tmp, 1);
}

/* A failed test may leave a server behind, frozen perhaps: end it. */
static void end_server_of(const char *dir)
{
    char name[512], text[512] = "";
    FILE *file;
    int pid = 0;

    snprintf(name, sizeof name, "%s/%s/pid", tmp, dir);
    if ((file = fopen(name, "r")) == NULL)
        return;
    if (fgets(text, sizeof text, file) != NULL)
        pid = (int)strtol(text, NULL, 10);
    fclose(file);
    snprintf(name, sizeof name, "/proc/%d/cmdline", pid);
    if (pid <= 1 || (file = fopen(name, "r")) == NULL)
        return;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    if (strstr(text, tmp) != NULL) /* its title names its socket */
        kill(pid, SIGKILL);
}

int embedded_teardown(void)
{
    struct dirent *entry;
    DIR *dir;

    setenv("PATH", path, 1);
    unsetenv("INTERLOCK_SERVER");
    unsetenv("XDG_RUNTIME_DIR");
    if ((dir = opendir(tmp)) != NULL) {
        while ((entry = readdir(dir)) != NULL)
            end_server_of(entry->d_name);
        closedir(dir);
    }
    fixture_remove(tmp);
    return 0;
}

const char *in_tmp(const char *name)
{
    static char text[128];

    snprintf(text, sizeof text, "%s/%s", tmp, name);
    return text;
}

ilk__embedded *attach(const char *dir)
{
    ilk__embedded *embedded;
    ilk_error err = {0};

    if (ilk__embedded_attach(&embedded, dir, ilk__deadline(patience(PATIENCE)),
                             &err)
        != ILK_OK)
        fail_msg("%s", err.msg);
    return embedded;
}

void assert_fails(const char *dir, int64_t timeout_ms, ilk_status expected,
                  const char *why)
{
    ilk__embedded *embedded;
    ilk_error err = {0};

    assert_int_equal(
        ilk__embedded_attach(&embedded, dir, ilk__deadline(timeout_ms), &err),
        expected);
    assert_null(embedded);
    if (strstr(err.msg, why) == NULL)
        fail_msg("%s", err.msg);
}

ilk_server_info look(void)
{
    ilk_server_info info = {.size = sizeof info};

    assert_int_equal(ilk_server_status(NULL, &info, NULL), ILK_OK);
    return info;
}

const char *ask(ilk__embedded *embedded, const char *command)
{
    static char line[256];

    assert_int_equal(ilk__embedded_command(ilk__embedded_socket(embedded),
                                           command, line, sizeof line,
                                           ilk__deadline(patience(PATIENCE))),
                     0);
    return line;
}

/* The value of a key, as the second line of the answer: too long for ask(). */
int has_value(ilk__embedded *embedded, const char *key)
{
    char command[64];

    snprintf(command, sizeof command, "EXISTS %s", key);
    return strcmp(ask(embedded, command), ":1") == 0;
}

/* Nobody may be there to reap it, so a zombie has ended too. */
static int has_ended(pid_t pid)
{
    char name[64], text[256] = "";
    const char *state;
    FILE *file;

    if (kill(pid, 0) != 0)
        return 1;
    snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
    if ((file = fopen(name, "r")) == NULL)
        return 0;
    state = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
    fclose(file);
    return state != NULL && strncmp(state, ") Z", 3) == 0;
}

void await_end(pid_t pid)
{
    int64_t deadline = ilk__deadline(patience(PATIENCE));

    while (!has_ended(pid) && ilk__poll_timeout(deadline) > 0)
        fixture_sleep_ms(1);
    assert_true(has_ended(pid));
}

void await_no_server(void)
{
    int64_t deadline = ilk__deadline(patience(PATIENCE));

    while (look().running && ilk__poll_timeout(deadline) > 0)
        fixture_sleep_ms(1);
    assert_int_equal(look().running, 0);
}
