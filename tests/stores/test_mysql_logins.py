# SPDX-License-Identifier: MIT
"""Ways to log in to a real MariaDB without TLS."""

from __future__ import annotations

from collections.abc import Iterator

import interlock
import pytest
from mysql_store import DATABASE, MySql
from store_kinds import CHOSEN, absence


@pytest.fixture(scope="module")
def server() -> Iterator[MySql]:
    if "mysql" not in CHOSEN:
        pytest.skip("ILK_TEST_STORES names others")
    lacks = absence("mysql")
    if lacks:
        lacks.report()
    with MySql() as running:
        yield running


@pytest.mark.parametrize("way", ["ed25519", "mysql_native_password"])
def test_a_way_that_gives_no_password_away_needs_no_tls(
    server: MySql, way: str, name: str
) -> None:
    if way == "ed25519":
        server.server.sql("INSTALL SONAME 'auth_ed25519'")
    server.server.sql(
        f"CREATE USER {way}@'%' IDENTIFIED VIA {way} USING PASSWORD('secret');"
        f"GRANT ALL ON {DATABASE}.* TO {way}@'%'"
    )
    with interlock.connect(server.url(login=f"{way}:secret")) as client:
        lock = client.lock(name, ttl=30)
        assert lock.acquire(timeout=5)
        assert lock.release()

    with pytest.raises(interlock.AuthError):
        interlock.connect(server.url(login=f"{way}:wrong"))
