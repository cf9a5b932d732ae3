/* SPDX-License-Identifier: MIT */
/*
 * cli.h -- what the files of the command share.
 *
 * It is included first, because it asks the system headers for getopt_long,
 * sigaction and their kin. A command is one file with one entry in main.c's
 * table; its options stand in one table, from which parsing and help are
 * made, so the two cannot differ.
 */
#ifndef INTERLOCK_CLI_H
#define INTERLOCK_CLI_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#if defined(__APPLE__) && !defined(_DARWIN_C_SOURCE)
#define _DARWIN_C_SOURCE 1
#endif

#include <interlock.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __GNUC__
#define CLI_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define CLI_PRINTF(at, first)
#endif

/* Exit statuses; where sysexits.h has a number for the matter, it is that. */
enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,        /* the answer is no, or a verdict failed */
    CLI_USAGE = 64,        /* the command line makes no sense */
    CLI_DATA = 65,         /* the key has another kind or settings */
    CLI_UNREACHABLE = 69,  /* no server, or it refuses to serve */
    CLI_SOFTWARE = 70,     /* something that should not happen */
    CLI_SYSTEM = 71,       /* the operating system refused something */
    CLI_OUTPUT = 74,       /* standard output could not be written */
    CLI_NOT_ACQUIRED = 75, /* not acquired in the time given */
    CLI_LOST = 76,         /* the lock was lost while CMD ran */
    CLI_NOT_EXECUTABLE = 126,
    CLI_NOT_FOUND = 127,
    CLI_SIGNALLED = 128 /* plus the signal's number */
};

/* Plus a signal's number: not to exit with a status, but to die by it. */
enum { CLI_DIES_BY = 256 };

/* One option. `letter` is 0 where there is only the long form. */
struct cli_option {
    const char *name;
    const char *arg; /* what stands for the value in help; NULL for none */
    const char *help;
    int key;
    char letter;
};

/* Keys that options.c handles itself; a command's own begin at CLI_KEY. */
enum {
    CLI_KEY_HELP = 256,
    CLI_KEY_URL,
    CLI_KEY_URL_FILE,
    CLI_KEY_JSON,
    CLI_KEY_HEX,
    CLI_KEY_QUIET,
    CLI_KEY
};

#define CLI_OPTION_HELP                                                        \
    {                                                                          \
        "help", NULL, "show this text", CLI_KEY_HELP, 'h'                      \
    }
#define CLI_OPTION_URL                                                         \
    {"url", "URL", "the server; default $INTERLOCK_URL, else embedded",        \
     CLI_KEY_URL, 0},                                                          \
    {                                                                          \
        "url-file", "FILE", "read URL from a file, or from '-', stdin",        \
            CLI_KEY_URL_FILE, 0                                                \
    }
#define CLI_OPTION_JSON                                                        \
    {                                                                          \
        "json", NULL, "print JSON", CLI_KEY_JSON, 0                            \
    }
#define CLI_OPTION_HEX                                                         \
    {                                                                          \
        "hex", NULL, "NAME is written in hexadecimal", CLI_KEY_HEX, 0          \
    }
#define CLI_OPTION_QUIET                                                       \
    {                                                                          \
        "quiet", NULL, "say nothing that the exit status says", CLI_KEY_QUIET, \
            'q'                                                                \
    }
#define CLI_OPTION_END                                                         \
    {                                                                          \
        NULL, NULL, NULL, 0, 0                                                 \
    }

struct cli_args;

/* One command. `hidden` ones are called by the program itself only. */
struct cli_command {
    const char *name;
    const char *synopsis;
    const char *summary;
    const char *about; /* further lines of help; NULL for none */
    const struct cli_option *options;
    int (*run)(struct cli_args *args);
    int in_order; /* options end at the first word that is none */
    int hidden;
};

/* A command line on its way through the parser. */
struct cli_args {
    const struct cli_command *command;
    int argc;
    char **argv;
    const char *url;
    int json, hex;
    int status; /* the exit status after cli_args_next() has returned -1 */
};

/* Bytes that belong to somebody else. */
struct cli_bytes {
    const char *data;
    size_t len;
};

extern const struct cli_command cli_break, cli_demo, cli_demo_seller, cli_elect,
    cli_event, cli_group, cli_inspect, cli_kv, cli_lock, cli_ls, cli_queue,
    cli_quorum, cli_register, cli_ring, cli_semaphore, cli_server, cli_signal,
    cli_supervise, cli_version, cli_wait_for;

/* options.c. The next option's key and value; 0 at the end of the options;
   -1 to exit with args->status, after any message was printed. */
int cli_args_next(struct cli_args *args, const char **out_value);
/* Go on with a command, whose name was the word just taken. */
void cli_args_command(struct cli_args *args, const struct cli_command *command);
/* The next word that is no option; NULL when there is none. */
char *cli_args_word(struct cli_args *args);
/* The words that are left, up to a NULL; NULL when there are none. */
char *const *cli_args_rest(struct cli_args *args);
/* Whether the word before these was `--`. */
int cli_args_ended(const struct cli_args *args);
/* 0 when no word is left, else a usage error, with a message. */
int cli_args_done(struct cli_args *args);
/* Read the word NAME, or NULL, as bytes; with --hex they are decoded in place.
   Returns 0, or a usage error with a message. */
int cli_args_name(struct cli_args *args, char *word, struct cli_bytes *out);
/* The same for another word, which a message calls `what`. */
int cli_args_bytes(struct cli_args *args, char *word, const char *what,
                   struct cli_bytes *out);

/* help.c. */
void cli_help(FILE *file, const struct cli_command *command);
/* The candidate most like the word, NULL when none is near. */
const char *cli_nearest(const char *word, const char *(*candidate)(size_t i));

/* say.c. One line on standard error, after "interlock: ". */
void cli_say(const char *format, ...) CLI_PRINTF(1, 2);
/* The same, unless --quiet was given: for what the exit status says as well. */
void cli_note(const char *format, ...) CLI_PRINTF(1, 2);
void cli_be_quiet(void);
int cli_is_quiet(void);
/* A usage error: the line, and where help is. Returns CLI_USAGE. */
int cli_usage(const struct cli_args *args, const char *format, ...)
    CLI_PRINTF(2, 3);
/* Print the text of err, and return the exit status that fits. Where that means
   "not acquired" or "lost", --quiet leaves out the text. */
int cli_fail(ilk_status status, const ilk_error *err);
int cli_exit_status(ilk_status status);
/* Open the client that the command line asks for; 0 or an exit status. */
int cli_connect(const struct cli_args *args, ilk_client **out);
/* The same for a wait of so long, -1 for ever: a time above 0 bounds the wait for the
   server as well, so that nothing is connected before the wait. */
int cli_connect_to_wait(const struct cli_args *args, int64_t wait_ms,
                        ilk_client **out);
/* Flush standard output; the status, or CLI_OUTPUT instead of success. */
int cli_print_done(int status);
/* Milliseconds of a clock that never goes back. */
int64_t cli_now_ms(void);

/* own_path.c. Where this program lies; 0 when the system does not say. */
enum { CLI_PATH_MAX = 4096 };
int cli_own_path(char *path, size_t room);

/* duration.c. "10", "10s", "250ms", "1.5m", "2h", "1d"; -1 for others. */
int64_t cli_duration(const char *text);
/* Parse an option's value; 0, or a usage error, with a message. `least` is 0
   or 1. */
int cli_take_duration(const struct cli_args *args, const char *option,
                      const char *value, int64_t least, int64_t *out_ms);
/* The same for a lease, which must be long enough to be held. */
int cli_take_lease(const struct cli_args *args, const char *option,
                   const char *value, int64_t *out_ms);
int cli_take_number(const struct cli_args *args, const char *option,
                    const char *value, int64_t least, int64_t most,
                    int64_t *out);
/* waiting.c. The same, but "forever" is -1. */
int cli_take_wait(const struct cli_args *args, const char *option,
                  const char *value, int64_t *out_ms);
/* duration.c. Write milliseconds for people: "812 ms", "24.3 s", "2 m 05 s". */
void cli_put_duration(FILE *file, int64_t ms);
/* Milliseconds since 1970 as "2026-11-22 14:00:01.250 UTC"; "" for none. */
enum { CLI_TIME_MAX = 40 };
void cli_time_text(char out[CLI_TIME_MAX], int64_t since_ms);

/* text.c. Bytes for a terminal: what is not printable as \xNN. */
void cli_put_text(FILE *file, const char *data, size_t len);
/* The same in new memory; NULL without memory. */
char *cli_text(const char *data, size_t len);
/* A line of a message, in which backslashes stay as they are, in new memory. */
char *cli_message(const char *line);
/* The number of a UTF-8 character that a terminal must not get as it is, such as a
   control or one that changes the direction of what follows; 0 for any other. */
uint32_t cli_hidden(const char *data, size_t char_len);
/* Bytes of the UTF-8 character at data; 0 when it is none. */
size_t cli_utf8(const char *data, size_t len);

/* table.c. Rows of cells, printed in columns. Printing empties the table; rows
   that are added then go on in the same columns. */
struct cli_table {
    size_t columns, count, room; /* cells */
    char **cells;
    size_t *widths; /* of the columns as far as printed */
    int failed;     /* out of memory */
};
void cli_table_init(struct cli_table *table, size_t columns);
void cli_table_add(struct cli_table *table, char *cell); /* takes the cell */
void cli_table_text(struct cli_table *table, const char *text);
int cli_table_print(struct cli_table *table, FILE *file); /* 0 or status */
void cli_table_free(struct cli_table *table);

/* json.c. One object on one line, see output.schema.json. A key is NULL inside
   an array. */
enum { CLI_SCHEMA = 1 }; /* raised when a member changes its meaning or goes */

struct cli_json {
    FILE *file;
    int needs_comma;
};
/* Begin with what every object has: the kind, and the name if it is of one. */
void cli_json_begin(struct cli_json *json, const char *kind,
                    const struct cli_bytes *name);
void cli_json_end(struct cli_json *json);
void cli_json_open(struct cli_json *json, const char *key, char bracket);
void cli_json_close(struct cli_json *json, char bracket);
void cli_json_int(struct cli_json *json, const char *key, int64_t value);
void cli_json_real(struct cli_json *json, const char *key, double value);
void cli_json_bool(struct cli_json *json, const char *key, int value);
void cli_json_null(struct cli_json *json, const char *key);
void cli_json_text(struct cli_json *json, const char *key, const char *text);
/* Any bytes: as text under `key`, exactly under `key_hex`. */
void cli_json_bytes(struct cli_json *json, const char *key,
                    struct cli_bytes bytes);

/* payload.c. The word's bytes, or those of standard input for "-", in new
   memory; 0 or an exit status, with a message. NULL is no data. */
int cli_payload_take(const char *word, size_t most, struct cli_bytes *out);
void cli_payload_free(struct cli_bytes *payload);
/* To standard output. */
void cli_payload_put(struct cli_bytes payload);

#endif
