/* SPDX-License-Identifier: MIT */
/* zookeeper_server.c -- a ZooKeeper server of a test's own, and a proxy before it. */
#include "zookeeper_server.h"

#include "fixture.h"

#include <zookeeper/zookeeper.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap(int ms)
{
    struct timespec pause = {.tv_nsec = ms * 1000000L};

    nanosleep(&pause, NULL);
}

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port)};

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
}

static int dial(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    struct sockaddr_in at = loopback(port);

    if (connect(fd, (struct sockaddr *)&at, sizeof at)) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

static int listen_somewhere(int *out_port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = loopback(0);
    socklen_t len = sizeof at;

    if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 64)
        || getsockname(fd, (struct sockaddr *)&at, &len))
        abort();
    *out_port = ntohs(at.sin_port);
    return fd;
}

/* ---- the server ---------------------------------------------------------- */

static const char *jar(void)
{
    const char *given = getenv("ILK_TEST_ZOOKEEPER");

    return given ? given : "/usr/share/java/zookeeper.jar";
}

static int write_config(const zookeeper_server *server)
{
    char path[160];
    FILE *out;

    snprintf(path, sizeof path, "%s/zoo.cfg", server->dir);
    out = fopen(path, "w");
    if (!out)
        return -1;
    fprintf(out,
            "tickTime=300\ndataDir=%s/data\nclientPort=%d\n"
            "clientPortAddress=127.0.0.1\nmaxClientCnxns=0\n"
            "minSessionTimeout=600\nmaxSessionTimeout=60000\n"
            "admin.enableServer=false\n4lw.commands.whitelist=*\n",
            server->dir, server->port);
    return fclose(out);
}

static void become(const zookeeper_server *server, pid_t parent)
{
    char config[160], log[160];
    int fd;

    snprintf(config, sizeof config, "%s/zoo.cfg", server->dir);
    snprintf(log, sizeof log, "%s/log", server->dir);
    fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, 1);
    dup2(fd, 2);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        execlp("java", "java", "-Xmx96m", "-XX:+UseSerialGC",
               "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true",
               "-Dzookeeper.forceSync=no", "-cp", jar(),
               "org.apache.zookeeper.server.quorum.QuorumPeerMain", config,
               (char *)NULL);
    _exit(127);
}

enum { STATE = 1024 };

/* It says its mode when it serves clients; before, it only accepts them, and may leave
 * a connection without an answer for ever. */
static void read_state(int port, char reply[STATE])
{
    static const struct timeval patient = {.tv_sec = 1};
    size_t len = 0;
    ssize_t got = 1;
    int fd = dial(port);

    memset(reply, 0, STATE);
    if (fd < 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patient, sizeof patient);
    if (write(fd, "srvr", 4) != 4)
        got = 0;
    while (got > 0 && len < STATE - 1) {
        got = read(fd, reply + len, STATE - 1 - len);
        len += got > 0 ? (size_t)got : 0;
    }
    close(fd);
}

static int serves(int port)
{
    char reply[STATE];

    read_state(port, reply);
    return strstr(reply, "Mode: ") != NULL;
}

long zookeeper_requests(const zookeeper_server *server)
{
    char reply[STATE];
    const char *found;

    read_state(server->port, reply);
    found = strstr(reply, "Received: ");
    return found ? strtol(found + strlen("Received: "), NULL, 10) : -1;
}

int zookeeper_server_restart(zookeeper_server *server)
{
    const pid_t parent = getpid();
    int status;

    server->pid = fork();
    if (server->pid == 0)
        become(server, parent);
    for (int i = 0; i < 600; i++) {
        if (serves(server->port))
            return 0;
        if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
            server->pid = 0;
            return WIFEXITED(status) && WEXITSTATUS(status) == 127
                       ? ZOOKEEPER_SERVER_SKIP
                       : -1;
        }
        nap(50);
    }
    return -1;
}

int zookeeper_server_start(zookeeper_server *server)
{
    char path[160];
    int st;

    memset(server, 0, sizeof *server);
    if (access(jar(), R_OK))
        return ZOOKEEPER_SERVER_SKIP;
    snprintf(server->dir, sizeof server->dir, "%s/ilk-zookeeper-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(server->dir))
        return -1;
    server->port = fixture_free_port();
    snprintf(path, sizeof path, "%s/data", server->dir);
    if (mkdir(path, 0700) || write_config(server))
        return -1;
    st = zookeeper_server_restart(server);
    if (st)
        zookeeper_server_stop(server);
    return st;
}

void zookeeper_server_kill(zookeeper_server *server)
{
    if (server->pid <= 0)
        return;
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

void zookeeper_server_stop(zookeeper_server *server)
{
    char command[160];

    zookeeper_server_kill(server);
    if (!server->dir[0])
        return;
    snprintf(command, sizeof command, "rm -rf '%s'", server->dir);
    if (system(command))
        fprintf(stderr, "cannot remove %s\n", server->dir);
    server->dir[0] = '\0';
}

/* ---- nodes --------------------------------------------------------------- */

typedef struct look {
    int is_done, rc, count;
    char *first;
} look;

static void no_watch(zhandle_t *handle, int type, int state, const char *path,
                     void *context)
{
    (void)handle;
    (void)type;
    (void)state;
    (void)path;
    (void)context;
}

static void no_log(const char *line)
{
    (void)line;
}

static void has_children(int rc, const struct String_vector *list,
                         const void *context)
{
    look *one = (look *)context;
    const char *first = NULL;

    one->is_done = 1;
    one->rc = rc;
    one->count = rc == ZOK ? list->count : -1;
    for (int i = 0; rc == ZOK && i < list->count; i++) {
        const char *node = list->data[i];

        if (!first
            || strcmp(node + strlen(node) - 10, first + strlen(first) - 10) < 0)
            first = node;
    }
    if (one->first)
        snprintf(one->first, 256, "%s", first ? first : "");
}

static void has_end(int rc, const void *context)
{
    look *one = (look *)context;

    one->is_done = 1;
    one->rc = rc;
}

static void has_path(int rc, const char *path, const void *context)
{
    (void)path;
    has_end(rc, context);
}

/* A session for one request; sessions that made something for ever stay open. */
static zhandle_t *open_handle(const zookeeper_server *server)
{
    char host[64];

    snprintf(host, sizeof host, "127.0.0.1:%d", server->port);
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    return zookeeper_init2(host, no_watch, 20000, NULL, NULL,
                           ZOO_NO_LOG_CLIENTENV, no_log);
}

static int finish(zhandle_t *handle, look *one, int64_t until)
{
    while (!one->is_done && fixture_now_ms() < until) {
        struct timeval wait;
        struct pollfd fd = {.fd = -1};
        int interest = 0, events = 0;

        (void)zookeeper_interest(handle, &fd.fd, &interest, &wait);
        fd.events = (short)((interest & ZOOKEEPER_READ ? POLLIN : 0)
                            | (interest & ZOOKEEPER_WRITE ? POLLOUT : 0));
        poll(&fd, 1, 20);
        events = (fd.revents & POLLIN ? ZOOKEEPER_READ : 0)
                 | (fd.revents & POLLOUT ? ZOOKEEPER_WRITE : 0);
        (void)zookeeper_process(handle, events);
    }
    return one->is_done ? one->rc : ZOPERATIONTIMEOUT;
}

static int64_t until_given_up(void)
{
    return fixture_now_ms() + patience(20000);
}

static int children_until(const zookeeper_server *server, const char *path,
                          char first[256], int64_t until)
{
    zhandle_t *handle = open_handle(server);
    look one = {.first = first, .count = -1};

    zoo_aget_children(handle, path, 0, has_children, &one);
    (void)finish(handle, &one, until);
    one.first = NULL;
    zookeeper_close(handle);
    return one.count;
}

int zookeeper_children(const zookeeper_server *server, const char *path,
                       char first[256])
{
    return children_until(server, path, first, until_given_up());
}

int zookeeper_delete(const zookeeper_server *server, const char *path)
{
    zhandle_t *handle = open_handle(server);
    look one = {0};
    int rc;

    zoo_adelete(handle, path, -1, has_end, &one);
    rc = finish(handle, &one, until_given_up());
    zookeeper_close(handle);
    return rc;
}

int zookeeper_create(const zookeeper_server *server, const char *path,
                     const char *data, int mode)
{
    zhandle_t *handle = open_handle(server);
    look one = {0};
    int rc;

    zoo_acreate(handle, path, data, (int)strlen(data), &ZOO_OPEN_ACL_UNSAFE,
                mode, has_path, &one);
    rc = finish(handle, &one, until_given_up());
    zookeeper_close(handle);
    return rc;
}

int zookeeper_await(const zookeeper_server *server, const char *path, int count)
{
    const int64_t until = fixture_now_ms() + patience(15000);

    do {
        if (children_until(server, path, NULL, until) == count)
            return 0;
        nap(100);
    } while (fixture_now_ms() < until);
    return -1;
}

/* ---- the proxy ----------------------------------------------------------- */

enum { LINES = 32, CHUNK = 65536 };

struct zookeeper_proxy {
    int listener, port, server_port;
    pthread_t thread;
    pthread_mutex_t mutex;
    char word[64];
    _Atomic int stops, has_struck, blocks, accepted, bytes, pause_ms;
    struct {
        int ends[2], is_doomed;
    } lines[LINES];
    int count;
};

static int is_meant(zookeeper_proxy *proxy, const char *bytes, size_t len)
{
    int found;

    pthread_mutex_lock(&proxy->mutex);
    found =
        proxy->word[0] && memmem(bytes, len, proxy->word, strlen(proxy->word));
    if (found)
        proxy->word[0] = '\0';
    pthread_mutex_unlock(&proxy->mutex);
    return found;
}

/* From one end (0: the client's) to the other; 0: the line ends. */
static int pass(zookeeper_proxy *proxy, int line, int from)
{
    static char bytes[CHUNK];
    const int most = from == 1 ? proxy->bytes : 0;
    const ssize_t len =
        read(proxy->lines[line].ends[from], bytes, most ? (size_t)most : CHUNK);

    if (len <= 0)
        return 0;
    if (from == 0 && is_meant(proxy, bytes, (size_t)len))
        proxy->lines[line].is_doomed = 1;
    if (from == 1 && proxy->lines[line].is_doomed) {
        proxy->has_struck = 1;
        return 0;
    }
    if (most)
        nap(proxy->pause_ms);
    return send(proxy->lines[line].ends[!from], bytes, (size_t)len,
                MSG_NOSIGNAL)
           == len;
}

static void end_line(zookeeper_proxy *proxy, int line)
{
    close(proxy->lines[line].ends[0]);
    close(proxy->lines[line].ends[1]);
    proxy->lines[line] = proxy->lines[--proxy->count];
}

static void accept_line(zookeeper_proxy *proxy)
{
    const int fd = accept(proxy->listener, NULL, NULL);
    const int server = fd >= 0 && !proxy->blocks && proxy->count < LINES
                           ? dial(proxy->server_port)
                           : -1;

    if (server < 0) {
        if (fd >= 0)
            close(fd);
        return;
    }
    proxy->accepted++;
    proxy->lines[proxy->count].ends[0] = fd;
    proxy->lines[proxy->count].ends[1] = server;
    proxy->lines[proxy->count++].is_doomed = 0;
}

static void *serve(void *context)
{
    zookeeper_proxy *proxy = context;
    struct pollfd fds[2 * LINES + 1];

    while (!proxy->stops) {
        const int count = proxy->count;

        for (int i = 0; i < 2 * count; i++)
            fds[i] = (struct pollfd){.fd = proxy->lines[i / 2].ends[i % 2],
                                     .events = POLLIN};
        fds[2 * count] =
            (struct pollfd){.fd = proxy->listener, .events = POLLIN};
        poll(fds, (nfds_t)(2 * count + 1), 20);
        for (int i = count - 1; i >= 0; i--)
            if (proxy->blocks || (fds[2 * i].revents && !pass(proxy, i, 0))
                || (fds[2 * i + 1].revents && !pass(proxy, i, 1)))
                end_line(proxy, i);
        if (fds[2 * count].revents)
            accept_line(proxy);
    }
    while (proxy->count)
        end_line(proxy, 0);
    return NULL;
}

zookeeper_proxy *zookeeper_proxy_open(const zookeeper_server *server)
{
    zookeeper_proxy *proxy = calloc(1, sizeof *proxy);

    proxy->listener = listen_somewhere(&proxy->port);
    proxy->server_port = server->port;
    pthread_mutex_init(&proxy->mutex, NULL);
    if (pthread_create(&proxy->thread, NULL, serve, proxy))
        abort();
    return proxy;
}

int zookeeper_proxy_port(const zookeeper_proxy *proxy)
{
    return proxy->port;
}

void zookeeper_proxy_arm(zookeeper_proxy *proxy, const char *word)
{
    proxy->has_struck = 0;
    pthread_mutex_lock(&proxy->mutex);
    snprintf(proxy->word, sizeof proxy->word, "%s", word);
    pthread_mutex_unlock(&proxy->mutex);
}

int zookeeper_proxy_struck(const zookeeper_proxy *proxy)
{
    return proxy->has_struck;
}

void zookeeper_proxy_block(zookeeper_proxy *proxy, int blocks)
{
    proxy->blocks = blocks;
}

void zookeeper_proxy_pace(zookeeper_proxy *proxy, int bytes, int pause_ms)
{
    proxy->pause_ms = pause_ms;
    proxy->bytes = bytes;
}

int zookeeper_proxy_accepted(const zookeeper_proxy *proxy)
{
    return proxy->accepted;
}

void zookeeper_proxy_close(zookeeper_proxy *proxy)
{
    proxy->stops = 1;
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
    free(proxy);
}
