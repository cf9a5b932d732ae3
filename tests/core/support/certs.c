/* SPDX-License-Identifier: MIT */
/* certs.c -- certificates of a test's own, made by the openssl command. */
#include "certs.h"
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs in the new directory. */
static const char script[] =
    "exec >/dev/null 2>&1\n"
    "set -e\n"
    "key() {\n"
    "    openssl ecparam -name prime256v1 -genkey -noout -out $1.key\n"
    "}\n"
    "authority() {\n"
    "    key $1\n"
    "    openssl req -x509 -new -key $1.key -days 3 -subj \"/CN=test $1\" "
    "-out $1.crt\n"
    "}\n"
    "signed() {\n"
    "    key $1\n"
    "    openssl req -new -key $1.key -subj \"/CN=$1\" -out $1.csr\n"
    "    printf 'subjectAltName=%s\\n' $2 >$1.ext\n"
    "    openssl x509 -req -in $1.csr -CA ca.crt -CAkey ca.key -days 3 "
    "-CAcreateserial -extfile $1.ext -out $1.crt\n"
    "}\n"
    "authority ca\n"
    "authority other\n"
    "signed server DNS:localhost,IP:127.0.0.1\n"
    "signed elsewhere DNS:elsewhere.example\n"
    "signed client DNS:client\n";

/* The exit status of the shell, -1 when there was none. */
static int run(const char *dir, const char *text)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (chdir(dir) == 0)
            execl("/bin/sh", "sh", "-c", text, (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

int certs_make(certs *c)
{
    snprintf(c->dir, sizeof c->dir, "/tmp/ilk-certs-XXXXXX");
    if (run("/", "command -v openssl >/dev/null") != 0) {
        fprintf(stderr,
                "SKIPPED: TLS is not tested: there is no openssl command\n");
        return CERTS_SKIP;
    }
    if (mkdtemp(c->dir) == NULL)
        return -1;
    if (run(c->dir, script) == 0)
        return 0;
    fprintf(stderr, "openssl made no certificates in %s\n", c->dir);
    certs_remove(c);
    return -1;
}

void certs_remove(certs *c)
{
    fixture_remove(c->dir);
}

const char *certs_path(const certs *c, const char *file)
{
    enum { BUFFERS = 8 };
    static char paths[BUFFERS][128];
    static int next;

    next = (next + 1) % BUFFERS;
    snprintf(paths[next], sizeof paths[next], "%s/%s", c->dir, file);
    return paths[next];
}

/* ---- a server ----------------------------------------------------------- */

/* Another port near the fixture's own: tried until one is free. */
static int start_with_tls(const certs *c, fixture *fx, int *out_port)
{
    char extra[FIXTURE_ARGS];

    for (int i = 0; i < 10; i++) {
        *out_port = 20000 + (getpid() * 7 + i * 131) % 10000;
        snprintf(extra, sizeof extra,
                 "--tls-port %d --tls-cert-file %s --tls-key-file %s "
                 "--tls-ca-cert-file %s --tls-auth-clients optional",
                 *out_port, certs_path(c, "server.crt"),
                 certs_path(c, "server.key"), certs_path(c, "ca.crt"));
        if (fixture_start(fx, extra) == 0)
            return 0;
        fixture_stop(fx);
    }
    return -1;
}

int certs_serve(certs *c, fixture *fx, int *out_port)
{
    int made, without;

#ifndef ILK_TLS
    fprintf(stderr, "SKIPPED: TLS is not tested: built without ILK_TLS\n");
    return CERTS_SKIP;
#endif
    made = certs_make(c);
    if (made != 0)
        return made;
    if (fixture_start(fx, NULL) != 0)
        return -1;
    without = *fixture_command(fx, "CONFIG GET tls-port") == '\0';
    fixture_stop(fx);
    if (without) {
        fprintf(
            stderr,
            "SKIPPED: TLS is not tested: the server was built without it\n");
        certs_remove(c);
        return CERTS_SKIP;
    }
    return start_with_tls(c, fx, out_port);
}
