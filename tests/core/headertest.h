/* SPDX-License-Identifier: MIT */
/* Both header tests check constants, sizes, and that calls link. */
#ifndef HEADERTEST_H
#define HEADERTEST_H

static int headertest_check(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "headertest: %s\n", what);
    }
    return right ? 0 : 1;
}

static int headertest_run(void)
{
    ilk_error err;
    ilk_client *client = NULL;
    ilk_client_opts client_opts;
    ilk_lock_opts lock_opts;
    char version[32];
    ilk_status status;
    int bad = 0;

    snprintf(version, sizeof version, "%d.%d.%d", (int)ILK_VERSION_MAJOR,
             (int)ILK_VERSION_MINOR, (int)ILK_VERSION_PATCH);
    bad += headertest_check(strcmp(ilk_version(), version) == 0,
                            "the library is of another version");
    bad += headertest_check(sizeof err == 256, "ilk_error is not 256 bytes");
    bad +=
        headertest_check(strcmp(ilk_status_name(ILK_EBUSY), "ILK_EBUSY") == 0,
                         "ilk_status_name(ILK_EBUSY)");

    ilk_client_opts_init(&client_opts, sizeof client_opts);
    bad += headertest_check(client_opts.size == sizeof client_opts,
                            "ilk_client_opts_init() sets another size");
    ilk_lock_opts_init(&lock_opts, sizeof lock_opts);
    bad += headertest_check(lock_opts.size == sizeof lock_opts,
                            "ilk_lock_opts_init() sets another size");

    status = ilk_client_open(&client, "nonsense://", &client_opts, &err);
    bad += headertest_check(status == ILK_EINVAL && client == NULL,
                            "a URL that makes no sense is accepted");
    ilk_lock_free(NULL);
    ilk_client_free(NULL);
    return bad;
}

#endif
