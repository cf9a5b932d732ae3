# SPDX-License-Identifier: MIT
"""Find or open the Client for what a program has: a Client, a URL, a redis.Redis.

The module reads attributes of redis-py's objects and never imports redis-py.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from . import _fork, errors
from .client import Client, connect

_guard = _fork.Guard()
_by_url: dict[str, Client] = {}
_by_pool: weakref.WeakKeyDictionary[Any, Client] = weakref.WeakKeyDictionary()


def client_for(conn: Any) -> Client:
    """Return the client itself, or the one that is cached for this URL or pool."""
    if isinstance(conn, Client):
        return conn
    if isinstance(conn, str):
        with _guard:
            if conn not in _by_url or _by_url[conn].closed:
                _by_url[conn] = connect(conn)
            return _by_url[conn]
    pool = getattr(conn, "connection_pool", None)
    if pool is None or not hasattr(pool, "connection_kwargs"):
        raise TypeError(
            "conn must be an interlock.Client, a URL or a redis.Redis,"
            f" got {type(conn).__name__}"
        )
    with _guard:
        client = _by_pool.get(pool)
        if client is None or client.closed:
            connecting, reply = timeouts_of(pool)
            client = _by_pool[pool] = connect(
                url_of(pool), connect_timeout=connecting, reply_timeout=reply
            )
        return client


def url_of(pool: Any) -> str:
    """Return the URL of the server that a redis-py connection pool connects to."""
    kind = pool.connection_class.__name__
    # A program may have a class of its own, under any name, that extends one of these.
    bases = pool.connection_class.__mro__
    if any(base.__module__.startswith("fakeredis") for base in bases):
        raise TypeError(
            f"a {kind} of fakeredis has no server that a lock could be on:"
            " use a Redis server in the tests, such as interlock's embedded:// one"
        )
    known: Mapping[str, Any] = pool.connection_kwargs
    login = _login(known)
    db = int(known.get("db") or 0)
    if "path" in known:
        return f"unix://{login}{quote(str(known['path']))}?db={db}"
    if "host" not in known and any("Sentinel" in base.__name__ for base in bases):
        raise errors.InvalidError(f"a {kind} names no single server")
    host, port = str(known.get("host") or "localhost"), int(known.get("port") or 6379)
    if ":" in host:
        host = f"[{host}]"
    query = {}
    scheme = "redis"
    if any(base.__name__.startswith("SSL") for base in bases):
        scheme = "rediss"
        names = {"ca": "ssl_ca_certs", "cert": "ssl_certfile", "key": "ssl_keyfile"}
        query = {ours: known[name] for ours, name in names.items() if known.get(name)}
    tail = f"?{urlencode(query)}" if query else ""
    return f"{scheme}://{login}{host}:{port}/{db}{tail}"


def encoding_of(conn: Any) -> tuple[str, str]:
    """Return redis-py's encoding for this connection, and its error handler."""
    pool = getattr(conn, "connection_pool", None)
    known: Mapping[str, Any] = getattr(pool, "connection_kwargs", {})
    return known.get("encoding", "utf-8"), known.get("encoding_errors", "strict")


def name_for(conn: Any, name: str) -> str | bytes:
    """Return the name of a lock, in bytes where redis-py would not send UTF-8."""
    if getattr(conn, "connection_pool", None) is None:
        return name
    raw = name.encode(*encoding_of(conn))
    return name if raw == name.encode("utf-8", "surrogateescape") else raw


def timeouts_of(pool: Any) -> tuple[float | None, float | None]:
    """Return a redis-py connection pool's timeouts, for connecting and for replies.

    Here connecting includes logging in, for which redis-py has ``socket_timeout``,
    so the shorter of both is its limit.
    """
    known: Mapping[str, Any] = pool.connection_kwargs
    reply = known.get("socket_timeout") or None
    both = [known.get("socket_connect_timeout") or reply, reply]
    connecting = min((float(limit) for limit in both if limit), default=None)
    return connecting, None if reply is None else float(reply)


def _login(known: Mapping[str, Any]) -> str:
    user, password = known.get("username"), known.get("password")
    provider = known.get("credential_provider")
    if provider is not None:
        found = provider.get_credentials()
        user, password = found if len(found) == 2 else (None, found[0])
    if not user and not password:
        return ""
    return f"{_quoted(user)}:{_quoted(password)}@"


def _quoted(value: object | None) -> str:
    return quote(value if isinstance(value, bytes) else str(value or ""), safe="")
