# SPDX-License-Identifier: MIT
"""The functions of the headers that may need the server, and how long each may try."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "libcore" / "include" / "interlock"

# What bounds a call: `limit`, a time that the caller gives; `outage`, the outage_ms of
# its client; `lease`: it succeeds without the server, while the lease lasts.
# verb: (what bounds it, what the store must offer)
VERBS = {
    "ilk_barrier_wait": ("limit", "barrier"),
    "ilk_barrier_waiting": ("outage", "barrier"),
    "ilk_barrier_reset": ("outage", "barrier"),
    "ilk_barrier_inspect": ("outage", "barrier"),
    "ilk_client_ping": ("limit", ""),
    "ilk_election_campaign": ("limit", "election"),
    "ilk_election_resign": ("outage", "election"),
    "ilk_election_renew": ("outage", "election"),
    "ilk_election_check": ("lease", "election"),
    "ilk_election_proclaim": ("outage", "election"),
    "ilk_election_break": ("outage", "election"),
    "ilk_election_leader": ("outage", "election"),
    "ilk_observer_next": ("limit", "election"),
    "ilk_event_set": ("outage", "event"),
    "ilk_event_clear": ("outage", "event"),
    "ilk_event_read": ("outage", "event"),
    "ilk_event_wait": ("limit", "event"),
    "ilk_event_wait_change": ("limit", "event"),
    "ilk_group_members": ("outage", "group"),
    "ilk_group_watch": ("limit", "group"),
    "ilk_member_join": ("outage", "group"),
    "ilk_member_update": ("outage", "group"),
    "ilk_member_leave": ("outage", "group"),
    "ilk_guard_set": ("outage", "guard"),
    "ilk_guard_get": ("outage", "guard"),
    "ilk_guard_remove": ("outage", "guard"),
    "ilk_inspect": ("outage", "lock"),
    "ilk_inspect_kind": ("outage", "lock"),
    "ilk_semaphore_inspect": ("outage", "semaphore"),
    "ilk_job_ack": ("outage", "queue"),
    "ilk_job_nack": ("outage", "queue"),
    "ilk_job_bury": ("outage", "queue"),
    "ilk_job_extend": ("outage", "queue"),
    "ilk_batch_ack": ("outage", "queue"),
    "ilk_kv_get": ("outage", "kv"),
    "ilk_kv_put": ("outage", "kv"),
    "ilk_kv_delete": ("outage", "kv"),
    "ilk_kv_move": ("outage", "kv"),
    "ilk_latch_count_down": ("outage", "latch"),
    "ilk_latch_wait": ("limit", "latch"),
    "ilk_latch_count": ("outage", "latch"),
    "ilk_latch_reset": ("outage", "latch"),
    "ilk_latch_inspect": ("outage", "latch"),
    "ilk_list_open": ("outage", "list"),
    "ilk_list_open_kinds": ("outage", "list"),
    "ilk_lock_acquire": ("limit", "lock"),
    "ilk_lock_acquire_ttl": ("limit", "lock"),
    "ilk_lock_release": ("outage", "lock"),
    "ilk_lock_extend": ("outage", "lock"),
    "ilk_lock_check": ("lease", "lock"),
    "ilk_lock_detach": ("lease", "lock detach"),
    "ilk_lock_adopt": ("outage", "lock detach"),
    "ilk_lock_break": ("outage", "lock"),
    "ilk_lock_many_acquire": ("limit", "lock_many"),
    "ilk_lock_many_release": ("outage", "lock_many"),
    "ilk_lock_many_extend": ("outage", "lock_many"),
    "ilk_lock_many_check": ("lease", "lock_many"),
    "ilk_queue_push": ("outage", "queue"),
    "ilk_queue_push_many": ("outage", "queue"),
    "ilk_queue_pop": ("limit", "queue"),
    "ilk_queue_reserve": ("limit", "queue"),
    "ilk_queue_reserve_many": ("limit", "queue"),
    "ilk_queue_size": ("outage", "queue"),
    "ilk_queue_peek": ("outage", "queue"),
    "ilk_queue_purge": ("outage", "queue"),
    "ilk_queue_requeue": ("outage", "queue"),
    "ilk_queue_inspect": ("outage", "queue"),
    "ilk_recipes_push": ("outage", "recipes"),
    "ilk_recipes_pop": ("outage", "recipes"),
    "ilk_recipes_park": ("outage", "recipes"),
    "ilk_recipes_unpark": ("outage", "recipes"),
    "ilk_recipes_restore": ("outage", "recipes"),
    "ilk_recipes_delay": ("outage", "recipes"),
    "ilk_recipes_due": ("outage", "recipes"),
    "ilk_recipes_permit": ("outage", "recipes"),
    "ilk_recipes_permit_release": ("outage", "recipes"),
    "ilk_recipes_permit_refresh": ("outage", "recipes"),
    "ilk_recipes_master": ("outage", "recipes"),
    "ilk_recipes_signal": ("outage", "recipes"),
    "ilk_listener_wait": ("limit", "recipes"),
    "ilk_listener_leave": ("lease", "recipes"),
    "ilk_consumer_pop": ("limit", "recipes"),
    "ilk_consumer_settle": ("outage", "recipes"),
    "ilk_consumer_leave": ("outage", "recipes"),
    "ilk_register_get": ("outage", "register"),
    "ilk_register_set": ("outage", "register"),
    "ilk_register_cas": ("outage", "register"),
    "ilk_register_delete": ("outage", "register"),
    "ilk_register_wait": ("limit", "register"),
    "ilk_semaphore_acquire": ("limit", "semaphore"),
    "ilk_semaphore_acquire_ttl": ("limit", "semaphore"),
    "ilk_semaphore_release": ("outage", "semaphore"),
    "ilk_semaphore_extend": ("outage", "semaphore"),
    "ilk_semaphore_check": ("lease", "semaphore"),
    "ilk_semaphore_detach": ("lease", "semaphore detach"),
    "ilk_semaphore_adopt": ("outage", "semaphore detach"),
    "ilk_semaphore_set_limit": ("outage", "semaphore"),
    "ilk_signal_wait": ("limit", "signal"),
    "ilk_signal_listen": ("outage", "signal"),
    "ilk_signal_wait_any": ("limit", "signal"),
    "ilk_signal_wait_all": ("limit", "signal"),
    "ilk_signal_notify_one": ("outage", "signal"),
    "ilk_signal_notify_all": ("outage", "signal"),
    "ilk_signal_inspect": ("outage", "signal"),
    "ilk_store_outcome": ("outage", "store"),
    "ilk_txn_get": ("outage", "store"),
    "ilk_txn_commit": ("outage", "store"),
    "ilk_worker_next": ("limit", "queue"),
    "ilk_worker_finish": ("outage", "queue"),
}

# Functions that block and yet have no row, and why.
LEFT_OUT = {
    "ilk_client_open": "test_connecting.py",
    "ilk_client_close": "it does not wait for a server that is away",
    "ilk_client_free": "as ilk_client_close()",
    "ilk_server_stop": "it stops an embedded server, and has a limit of its own",
    "ilk_list_next": "a step of ilk_list_open(), which has a row",
}

# Python and Lua have these in another form, or do without.
C_ALONE = {
    *(verb for verb in VERBS if VERBS[verb][1] == "recipes"),
    *("ilk_worker_next", "ilk_worker_finish", "ilk_list_open", "ilk_inspect"),
}


def blocking() -> set[str]:
    """The functions of the headers whose comments say that they block."""
    found = set()
    for header in HEADERS.glob("*.h"):
        for comment, declaration in re.findall(
            r"/\*\*((?:(?!\*/).)*?)\*/\s*ILK_API ([^;]*?);", header.read_text(), re.S
        ):
            text = " ".join(comment.replace("\n *", " ").split())
            if re.search(r"Blocks: (?!no\b)", text):
                name = re.search(r"(ilk_\w+)\s*\(", declaration)
                assert name
                found.add(name[1])
    return found
