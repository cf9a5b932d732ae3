/* SPDX-License-Identifier: MIT */
/* client_world.c -- the clock, the network and the keeper of a fuzzed client. */
#include "client_world.h"

#include "base/clock.h"
#include "base/park.h"
#include "client/keeper.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

enum {
    FIRST_FD = 1 << 20, /* above all real descriptors */
    STEPS_MOST = 200000,
    DELIVERIES = 256,
    KEEPER_FDS = 16
};

typedef struct delivery {
    int64_t when;
    uint64_t order;
    world_link *link;
    char *data;
    size_t len;
    int ends;
} delivery;

world_link world_links[LINKS];
int64_t world_now;
fuzz_input world_input;
size_t world_send_most, world_recv_most;
int world_refuses;

static int running;
static long steps;
static uint64_t orders, random_state;
static delivery deliveries[DELIVERIES];
static size_t delivery_count;

static ilk__keeper *keeper; /* NULL: it was not started */
static int in_keeper;
static struct pollfd keeper_fds[KEEPER_FDS];
static size_t keeper_fd_count;
static int64_t keeper_due;

static world_link *link_of(int fd)
{
    if (!running || fd < FIRST_FD || fd >= FIRST_FD + LINKS)
        return NULL;
    return &world_links[fd - FIRST_FD];
}

/* ---- deliveries --------------------------------------------------------- */

void world_deliver(world_link *link, int64_t delay_ms, const void *data,
                   size_t len, int ends)
{
    int64_t when = world_now + delay_ms;

    if (delivery_count == DELIVERIES)
        return;
    when = when > link->last_when ? when : link->last_when;
    link->last_when = when;
    deliveries[delivery_count++] = (delivery){.when = when,
                                              .order = ++orders,
                                              .link = link,
                                              .data = fuzz_copy(data, len),
                                              .len = len,
                                              .ends = ends};
}

static delivery *first_delivery(void)
{
    delivery *first = NULL;

    for (size_t i = 0; i < delivery_count; i++) {
        delivery *d = &deliveries[i];

        if (!first || d->when < first->when
            || (d->when == first->when && d->order < first->order))
            first = d;
    }
    return first;
}

static void arrive(delivery *d)
{
    world_link *link = d->link;

    if (link->is_open && !link->ended) {
        CHECK(ilk__buf_add(&link->readable, d->data, d->len) == ILK_OK);
        CHECK(ilk__buf_add(&link->shown, d->data, d->len) == ILK_OK);
        link->ended = d->ends;
    }
    free(d->data);
    *d = deliveries[--delivery_count];
}

/* ---- time --------------------------------------------------------------- */

static short ready_events(const struct pollfd *pfd)
{
    const world_link *link = link_of(pfd->fd);
    short events = 0;

    if (!link)
        return 0;
    if (ilk__buf_len(&link->readable) || link->ended)
        events |= POLLIN;
    events |= POLLOUT;
    return (short)(events & pfd->events);
}

int __real_poll(struct pollfd *fds, nfds_t count, int timeout);

/* Set all revents; the number of descriptors that have some. */
static int look(struct pollfd *fds, nfds_t count)
{
    int ready = 0;

    for (nfds_t i = 0; i < count; i++) {
        struct pollfd one = fds[i];

        if (link_of(one.fd) || one.fd < 0)
            one.revents = ready_events(&one);
        else
            (void)__real_poll(&one, 1, 0);
        fds[i].revents = one.revents;
        ready += one.revents != 0;
    }
    return ready;
}

static int keeper_is_ready(void)
{
    return keeper && !in_keeper
           && (world_now >= keeper_due || look(keeper_fds, keeper_fd_count));
}

static int run_keeper(void)
{
    int going;

    in_keeper = 1;
    keeper_due = ILK__FOREVER; /* until it polls */
    keeper_fd_count = 0;
    going = ilk__keeper_turn(keeper);
    in_keeper = 0;
    return going;
}

/* The next event without the keeper, or the time until then. */
static void step(int64_t until)
{
    delivery *next = first_delivery();

    CHECK(++steps < STEPS_MOST); /* something spins */
    if (next && next->when <= world_now) {
        arrive(next);
        return;
    }
    if (next)
        until = ilk__sooner(until, next->when);
    CHECK(until < ILK__FOREVER); /* nothing will ever happen */
    if (until > world_now)
        world_now = until;
}

void world_wait(int64_t until)
{
    CHECK(!in_keeper);
    if (!keeper_is_ready()) {
        step(keeper ? ilk__sooner(until, keeper_due) : until);
        return;
    }
    CHECK(++steps < STEPS_MOST);
    CHECK(run_keeper()); /* it ends in the join only */
}

void world_pass(int64_t ms)
{
    int64_t until = world_now + ms;

    while (world_now < until)
        world_wait(until);
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    int64_t until = timeout < 0 ? ILK__FOREVER : world_now + timeout;
    int ready;

    if (!running)
        return __real_poll(fds, count, timeout);
    ready = look(fds, count);
    if (in_keeper && count > 1) { /* not the poll of one socket that connects */
        CHECK(count <= KEEPER_FDS);
        keeper_due = until;
        keeper_fd_count = count;
        memcpy(keeper_fds, fds, count * sizeof *fds);
        return ready;
    }
    while (!ready && world_now < until) {
        world_wait(until);
        ready = look(fds, count);
    }
    return ready;
}

/* With _FORTIFY_SOURCE these two are called instead. */
int __wrap___poll_chk(struct pollfd *fds, nfds_t count, int timeout,
                      size_t size);
int __wrap___poll_chk(struct pollfd *fds, nfds_t count, int timeout,
                      size_t size)
{
    (void)size;
    return __wrap_poll(fds, count, timeout);
}

ssize_t __wrap_recv(int fd, void *out, size_t room, int flags);
ssize_t __wrap___recv_chk(int fd, void *out, size_t room, size_t size,
                          int flags);
ssize_t __wrap___recv_chk(int fd, void *out, size_t room, size_t size,
                          int flags)
{
    (void)size;
    return __wrap_recv(fd, out, room, flags);
}

ilk_status __wrap_ilk__park(ilk__parker *parker, int64_t deadline);
ilk_status __wrap_ilk__park(ilk__parker *parker, int64_t deadline)
{
    CHECK(running);
    while (!ilk__parker_consume(parker)) {
        if (world_now >= deadline)
            return ILK_ETIMEOUT;
        world_wait(deadline);
    }
    return ILK_OK;
}

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    if (!running || (clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME))
        return __real_clock_gettime(clock, out);
    out->tv_sec = world_now / 1000;
    out->tv_nsec = world_now % 1000 * 1000000;
    return 0;
}

/* ---- chance ------------------------------------------------------------- */

/* SplitMix64 */
static uint64_t random_number(void)
{
    uint64_t x = random_state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

ssize_t __real_getrandom(void *out, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags)
{
    unsigned char *bytes = out;

    if (!running)
        return __real_getrandom(out, len, flags);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (unsigned char)random_number();
    return (ssize_t)len;
}

uint32_t __wrap_ilk__jitter(uint32_t bound);
uint32_t __wrap_ilk__jitter(uint32_t bound)
{
    return bound ? (uint32_t)random_number() % bound : 0;
}

/* ---- the network -------------------------------------------------------- */

int __real_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol)
{
    if (!running)
        return __real_socket(family, type, protocol);
    for (int i = 0; i < LINKS; i++) {
        if (world_links[i].used)
            continue;
        world_links[i] = (world_link){.used = 1, .is_open = 1};
        world_links[i].reader = ilk__reader_new();
        CHECK(world_links[i].reader != NULL);
        return FIRST_FD + i;
    }
    errno = EMFILE;
    return -1;
}

int __real_connect(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len)
{
    if (!link_of(fd))
        return __real_connect(fd, address, len);
    errno = ECONNREFUSED;
    return world_refuses ? -1 : 0;
}

ssize_t __real_send(int fd, const void *data, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t len, int flags)
{
    world_link *link = link_of(fd);
    ilk__reply *command;

    if (!link)
        return __real_send(fd, data, len, flags);
    CHECK(link->is_open);
    if (link->ended) {
        errno = EPIPE;
        return -1;
    }
    if (world_send_most && len > world_send_most)
        len = world_send_most;
    CHECK(ilk__reader_feed(link->reader, data, len, NULL) == ILK_OK);
    while (ilk__reader_next(link->reader, &command, NULL) == ILK_OK) {
        CHECK(command->type == ILK__REPLY_ARRAY && command->count > 0);
        server_command(link, command);
        ilk__reply_free(command);
    }
    return (ssize_t)len;
}

ssize_t __real_recv(int fd, void *out, size_t room, int flags);
ssize_t __wrap_recv(int fd, void *out, size_t room, int flags);
ssize_t __wrap_recv(int fd, void *out, size_t room, int flags)
{
    world_link *link = link_of(fd);
    size_t len;

    if (!link)
        return __real_recv(fd, out, room, flags);
    CHECK(link->is_open);
    len = ilk__buf_len(&link->readable);
    if (len == 0 && link->ended)
        return 0;
    errno = EAGAIN;
    if (len == 0)
        return -1;
    len = len < room ? len : room;
    if (world_recv_most && len > world_recv_most)
        len = world_recv_most;
    memcpy(out, ilk__buf_data(&link->readable), len);
    ilk__buf_drop(&link->readable, len);
    return (ssize_t)len;
}

int __real_shutdown(int fd, int how);
int __wrap_shutdown(int fd, int how);
int __wrap_shutdown(int fd, int how)
{
    world_link *link = link_of(fd);

    if (!link)
        return __real_shutdown(fd, how);
    link->ended = 1;
    return 0;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    world_link *link = link_of(fd);

    if (!link)
        return __real_close(fd);
    CHECK(link->is_open); /* closed once */
    link->is_open = 0;
    return 0;
}

int __real_setsockopt(int fd, int level, int name, const void *value,
                      socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value,
                      socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value,
                      socklen_t len)
{
    return link_of(fd) ? 0 : __real_setsockopt(fd, level, name, value, len);
}

int __real_getsockopt(int fd, int level, int name, void *out, socklen_t *len);
int __wrap_getsockopt(int fd, int level, int name, void *out, socklen_t *len);
int __wrap_getsockopt(int fd, int level, int name, void *out, socklen_t *len)
{
    if (!link_of(fd))
        return __real_getsockopt(fd, level, name, out, len);
    memset(out, 0, *len);
    return 0;
}

int __real_epoll_ctl(int set, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int set, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int set, int what, int fd, struct epoll_event *event)
{
    return link_of(fd) ? 0 : __real_epoll_ctl(set, what, fd, event);
}

/* ---- the keeper's thread ------------------------------------------------ */

int __real_pthread_create(pthread_t *out, const pthread_attr_t *attr,
                          void *(*run)(void *), void *context);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr,
                          void *(*run)(void *), void *context);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr,
                          void *(*run)(void *), void *context)
{
    if (!running)
        return __real_pthread_create(out, attr, run, context);
    CHECK(!keeper);
    keeper = context; /* no other thread is made: the address is a path */
    keeper_due = world_now;
    keeper_fd_count = 0;
    *out = pthread_self();
    return 0;
}

int __real_pthread_join(pthread_t thread, void **out);
int __wrap_pthread_join(pthread_t thread, void **out);
int __wrap_pthread_join(pthread_t thread, void **out)
{
    if (!running)
        return __real_pthread_join(thread, out);
    CHECK(keeper && !in_keeper);
    for (;;) {
        if (!keeper_is_ready())
            step(keeper_due);
        else if (!run_keeper())
            break;
    }
    keeper = NULL;
    return 0;
}

/* ---- a run -------------------------------------------------------------- */

void world_begin(const uint8_t *data, size_t size)
{
    memset(world_links, 0, sizeof world_links);
    world_input = (fuzz_input){data, size};
    world_now = 1000000;
    world_send_most = world_recv_most = 0;
    world_refuses = 0;
    steps = 0;
    orders = 0;
    random_state = 1;
    delivery_count = 0;
    keeper = NULL;
    in_keeper = 0;
    running = 1;
    server_begin();
}

void world_end(void)
{
    CHECK(!keeper);
    server_end();
    while (delivery_count > 0)
        free(deliveries[--delivery_count].data);
    for (int i = 0; i < LINKS; i++) {
        world_link *link = &world_links[i];

        CHECK(!link->is_open); /* no descriptor is left */
        ilk__reader_free(link->reader);
        ilk__buf_free(&link->readable);
        ilk__buf_free(&link->shown);
    }
    running = 0;
}
