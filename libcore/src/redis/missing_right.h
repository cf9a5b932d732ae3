/* SPDX-License-Identifier: MIT */
/*
 * missing_right.h -- names the right that a user lacks, as it is granted by ACL
 * SETUSER: a command (+hset), keys (~orders ~ilk:*) or a channel (&ilk:inbox:*).
 *
 * The servers' texts differ, and those of Redis 7.0 and earlier do not name the
 * command, key or channel that a script was refused:
 *
 *     NOPERM User u has no permissions to run the 'set' command
 *     NOPERM this user has no permissions to access one of the keys ...
 *     NOPERM No permissions to access a channel
 *     ERR ACL failure in script: User u has no permissions to run the 'set' ...
 *     ERR The user executing the script can't run this command or subcommand
 *         script: <sha1>, on @user_script:12.
 *
 * For the last one the command is looked up in that line of the script.
 */
#ifndef ILK__MISSING_RIGHT_H
#define ILK__MISSING_RIGHT_H

#include "command.h"
#include "reply.h"

/* As ilk__reply_error(). For an ACL refusal the text begins with the missing
 * right, if it is known. `command` was refused; `script` is its script or
 * ILK__SCRIPT_NONE. */
ilk_status ilk__missing_right(const ilk__reply *reply,
                              const ilk__command *command, int script,
                              ilk_error *err);

/* The same for SUBSCRIBE or PSUBSCRIBE of this channel. */
ilk_status ilk__missing_right_to(const ilk__reply *reply, const char *channel,
                                 size_t channel_len, ilk_error *err);

#endif
