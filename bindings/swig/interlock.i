/* SPDX-License-Identifier: MIT */
/* The private Lua module interlock.core, generated from the public headers:
 *
 *     swig -lua -includeall -DILK_BINDGEN -I libcore/include \
 *          -o interlock_lua.c bindings/swig/interlock.i
 *
 * Nothing that a header declares is said again here. Handles are userdata that
 * the collector frees, in any order: a handle keeps a reference on its client.
 * No call frees one by hand, so none can be used after. Manners (defaults,
 * checks, loops) are those of lua/interlock.
 */
%module interlock_core

%begin %{
/* SWIG modules of other projects share no types with this one. */
#define SWIG_TYPE_TABLE interlock

/* dladdr() is not in POSIX. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
%}

%{
#include <interlock.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Modules are what require() returns; no global is made. */
#undef SWIG_LUA_MODULE_GLOBAL
%}

%include "typemaps.i"

/* Errors come back as values, see typemaps.i. */
%ignore ilk_error;

/* The collector frees; a second free by hand would be one too many. */
%rename("$ignore", regextarget=1, fullname=1) "^ilk_.*_free$";

/* A handle: a struct that only the library looks into. */
%define ILK_HANDLE(type)
%nodefaultctor type;
struct type {};
%extend type {
    ~type() { type##_free($self); }
}
%enddef

ILK_HANDLE(ilk_barrier)
ILK_HANDLE(ilk_client)
ILK_HANDLE(ilk_latch)
ILK_HANDLE(ilk_lock)
ILK_HANDLE(ilk_lock_many)
ILK_HANDLE(ilk_election)
ILK_HANDLE(ilk_leader)
ILK_HANDLE(ilk_observer)
ILK_HANDLE(ilk_info)
ILK_HANDLE(ilk_list)
ILK_HANDLE(ilk_op)
ILK_HANDLE(ilk_semaphore)
ILK_HANDLE(ilk_signal)
ILK_HANDLE(ilk_arrival)
ILK_HANDLE(ilk_event)
ILK_HANDLE(ilk_register)
ILK_HANDLE(ilk_store)
ILK_HANDLE(ilk_txn)
ILK_HANDLE(ilk_kv)
ILK_HANDLE(ilk_kv_entry)
ILK_HANDLE(ilk_value)
ILK_HANDLE(ilk_items)
ILK_HANDLE(ilk_consumer)
ILK_HANDLE(ilk_listener)
ILK_HANDLE(ilk_queue)
ILK_HANDLE(ilk_queue_info)
ILK_HANDLE(ilk_job)
ILK_HANDLE(ilk_batch)
ILK_HANDLE(ilk_worker)
ILK_HANDLE(ilk_ring)
ILK_HANDLE(ilk_group)
ILK_HANDLE(ilk_member)
ILK_HANDLE(ilk_members)

/* Records, options among them: made by a call (see typemaps.i), which fills
 * them; options are then set field by field. */
%define ILK_RECORD(type)
%ignore type::size;
%nodefaultctor type;
%extend type {
    ~type() { free($self); }
}
%enddef

ILK_RECORD(ilk_barrier_opts)
ILK_RECORD(ilk_client_opts)
ILK_RECORD(ilk_latch_opts)
ILK_RECORD(ilk_lock_opts)
ILK_RECORD(ilk_election_opts)
ILK_RECORD(ilk_semaphore_opts)
ILK_RECORD(ilk_signal_opts)
ILK_RECORD(ilk_event_opts)
ILK_RECORD(ilk_client_stats)
ILK_RECORD(ilk_node_stats)
ILK_RECORD(ilk_notification)
ILK_RECORD(ilk_server_info)
ILK_RECORD(ilk_queue_opts)
ILK_RECORD(ilk_push_opts)
ILK_RECORD(ilk_worker_opts)
ILK_RECORD(ilk_ring_opts)
ILK_RECORD(ilk_member_opts)
ILK_RECORD(ilk_kv_progress)

/* Pointers of C programs. */
%ignore *::user;
%ignore ilk_client_opts::interrupted;
%ignore ilk_op_user;
%ignore ilk_op_set_user;

/* A C function cannot be written in Lua; INTERLOCK_LOG shows the log. */
%ignore ilk_log_set_callback;
%ignore ilk_log_callback;

%include "interlock.h"

/* An operation ends when the program wants it; its userdata is not used after. */
%inline %{
static void ilk_lua_op_close(ilk_op *DISOWN)
{
    ilk_op_free(DISOWN);
}
%}

/* Lua has no clock that a loop with a deadline could use, and no pause. */
%inline %{
static int64_t ilk_lua_clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void ilk_lua_sleep_ms(int64_t ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000,
                                   .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}
%}

/* The library's thread may still run when the interpreter unloads its
 * modules, so this one stays, however it was linked. */
%init %{
#ifdef RTLD_NODELETE
    {
        Dl_info self;

        if (dladdr((void *)(uintptr_t)&SWIG_init, &self) != 0)
            dlopen(self.dli_fname, RTLD_LAZY | RTLD_NODELETE);
    }
#endif
%}
