/* SPDX-License-Identifier: MIT */
/**
 * @file base.h
 * The common part of all headers: visibility, version, status and error.
 */
#ifndef INTERLOCK_BASE_H
#define INTERLOCK_BASE_H

#ifndef ILK_BINDGEN
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef ILK_BINDGEN
#define ILK_API
#elif defined(__GNUC__)
#define ILK_API __attribute__((visibility("default")))
#else
#define ILK_API
#endif

#ifndef ILK_BINDGEN
#ifdef __cplusplus
extern "C" {
#endif
#endif

/** The version of these headers; ilk_version() returns the library's. */
enum { ILK_VERSION_MAJOR = 0, ILK_VERSION_MINOR = 1, ILK_VERSION_PATCH = 0 };

/** Limits of what a caller may pass. */
enum {
    ILK_NAME_MAX = 512,  /**< bytes of a name, which must not be empty */
    ILK_ERROR_MAX = 252, /**< bytes of an error text, its NUL included */
    ILK_MANY_MAX = 64,   /**< names of one lock over many names */
    /** milliseconds of a lease: a shorter one is within the margin that a
        holder leaves for the clocks, so nobody could ever rely on it */
    ILK_LEASE_MIN_MS = 3
};

/**
 * The outcome of a call. 0 is the only success; a value is never reused.
 */
typedef enum ilk_status {
    ILK_OK = 0,
    ILK_EINVAL = -1,     /**< an argument is not acceptable */
    ILK_ENOMEM = -2,     /**< this process is out of memory */
    ILK_ESYSTEM = -3,    /**< the operating system refused something */
    ILK_EBUSY = -4,      /**< held elsewhere, and the timeout was 0 */
    ILK_ETIMEOUT = -5,   /**< the time given ran out */
    ILK_EINTR = -6,      /**< a signal or ilk_client_interrupt() ended a wait */
    ILK_ECANCELLED = -7, /**< the wait was cancelled, or the client stopped */
    ILK_ELOST = -8,      /**< the hold ended before this call */
    ILK_ENOTOWNER = -9,  /**< the handle holds nothing */
    ILK_EHELD = -10,     /**< the handle holds already, or is in use; or the
                              group has a member with this id */
    ILK_ESTALE = -11,    /**< refused: a greater fence, or another version of
                             a register, is on record */
    ILK_ENOQUORUM = -12, /**< too few servers agreed */
    ILK_EUNKNOWN = -13,  /**< the request may or may not have taken effect */
    ILK_EFORKED = -14,   /**< the handle belongs to the parent process */
    ILK_ECLOSED = -15,   /**< the client was closed */
    ILK_EAGAIN = -16,    /**< nothing to fetch at the moment */
    ILK_ECONN = -17,     /**< the server cannot be reached */
    ILK_EAUTH = -18,     /**< the server refuses this user or this right */
    ILK_ETYPE = -19,     /**< the key holds another type or layout */
    ILK_EREPLY = -20,    /**< the server's reply is malformed */
    ILK_ESERVERBUSY = -21,     /**< the server is busy with a script */
    ILK_ESERVERLOADING = -22,  /**< the server is loading its data */
    ILK_ESERVERREADONLY = -23, /**< the server refuses writes */
    ILK_ESERVERMEMORY = -24,   /**< the server is out of memory */
    ILK_ESERVER = -25,         /**< the server replied with another error */
    ILK_ECLUSTER = -26,        /**< the server is part of a cluster */
    ILK_EDIFFERS = -27,        /**< it exists with other settings */
    ILK_EBROKEN = -28,      /**< a round of a barrier broke: a party is gone */
    ILK_EUNSUPPORTED = -29, /**< the store behind the URL does not offer it */
    ILK_ECONFLICT = -30 /**< a transaction came too late: another was first */
} ilk_status;

/** A failing call writes its code and one line of text here; one that returns
    ILK_OK sets the code to ILK_OK and the text to "". */
typedef struct ilk_error {
    int32_t code;            /**< the ilk_status that was returned */
    char msg[ILK_ERROR_MAX]; /**< NUL-terminated, lower case, one line */
} ilk_error;

/**
 * The name of a status, such as "ILK_EBUSY".
 *
 * @param status  any number
 * @return a static string; "ILK_?" for a number that is no status
 * Ownership: borrowed, for ever. Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_status_name(int32_t status);

/**
 * A sentence for a status, such as "held elsewhere".
 *
 * @param status  any number
 * @return a static string; "unknown status" for a number that is no status
 * Ownership: borrowed, for ever. Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_strerror(int32_t status);

/**
 * The library's version, such as "0.1.0".
 *
 * @return a static string
 * Ownership: borrowed, for ever. Threads: any thread. Blocks: no. Since: 0.1
 */
ILK_API const char *ilk_version(void);

#ifndef ILK_BINDGEN
#ifdef __cplusplus
}
#endif
#endif

#endif
