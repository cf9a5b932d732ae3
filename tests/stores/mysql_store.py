# SPDX-License-Identifier: MIT
"""MariaDB, with a user that owns a database, one that may read, and one without
rights. Its data directory is made once and copied."""

from __future__ import annotations

import atexit
import functools
import getpass
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import interlock
from certificates import Certificates
from ports import free_port
from server_process import ServerProcess
from store import LONG_S, Store

DATABASE = "interlock"
USERS = f"""
CREATE DATABASE {DATABASE};
CREATE USER ilk@'%' IDENTIFIED BY 'secret';
GRANT ALL ON {DATABASE}.* TO ilk@'%';
CREATE USER reader@'%' IDENTIFIED BY 'secret';
GRANT SELECT ON {DATABASE}.* TO reader@'%';
CREATE USER guest@'%' IDENTIFIED BY 'secret';
"""
SERVER = "mariadbd"
INSTALLATIONS = 3  # now and then one fails: "Unknown table mysql.tmp_user_sys"


class MariaDbServer(ServerProcess):
    def __init__(
        self,
        home: Path,
        data: Path,
        port: int,
        certificates: Certificates | None = None,
    ):
        super().__init__(home)
        self.data, self.port = data, port
        self.tls = certificates.files() if certificates else {}
        self.socket = home / "s"

    def command(self) -> list[str]:
        program = shutil.which(SERVER) or f"/usr/sbin/{SERVER}"
        return [
            *(program, "--no-defaults", f"--user={getpass.getuser()}"),
            *(f"--datadir={self.data}", f"--socket={self.socket}"),
            # A server that starts removes the temporary tables of others there.
            f"--tmpdir={self.home}",
            *(f"--port={self.port}", "--bind-address=127.0.0.1"),
            *(f"--pid-file={self.home / 'pid'}", "--skip-name-resolve"),
            *("--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M"),
            # Each commit is written, and survives the process; not the machine.
            "--innodb-flush-log-at-trx-commit=2",
            *("--max-connections=500", "--performance-schema=OFF"),
            *((f"--ssl-cert={self.tls['tls-cert-file']}",) if self.tls else ()),
            *((f"--ssl-key={self.tls['tls-key-file']}",) if self.tls else ()),
        ]

    def sql(self, text: str, database: str = "") -> list[list[str]]:
        """Statements of root over the socket, and the rows that they return."""
        done = subprocess.run(
            [
                *("mariadb", "--no-defaults", f"--socket={self.socket}"),
                # A socket needs no TLS, and from 11.4 on the client would refuse
                # a certificate of another authority than the system's.
                *("--skip-ssl", "--user=root", "--batch", "--skip-column-names"),
                *((f"--database={database}",) if database else ()),
            ],
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode != 0:
            raise OSError(done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def is_ready(self) -> bool:
        return self.sql("SELECT 1") == [["1"]]


@functools.cache
def template() -> Path:
    """A data directory with the users, of a server that was shut down in good order."""
    home = Path(tempfile.mkdtemp(prefix="ilk-mariadb-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    data = home / "data"
    for _ in range(INSTALLATIONS):
        shutil.rmtree(data, ignore_errors=True)
        done = subprocess.run(
            [
                *("mariadb-install-db", "--no-defaults", f"--datadir={data}"),
                f"--tmpdir={home}",
                *("--auth-root-authentication-method=normal", "--skip-test-db"),
                *(f"--user={getpass.getuser()}", "--innodb-log-file-size=8M"),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stdout + done.stderr
    server = MariaDbServer(home, data, free_port())
    server.start()
    try:
        server.sql(USERS)
        assert server.process
        server.process.terminate()
        server.process.wait(60)
    finally:
        server.stop()
    return data


class MySql(Store):
    scheme = "mysql"
    programs: ClassVar[Sequence[str]] = ("mariadb-install-db", "mariadb")
    packages = "mariadb-server mariadb-client"
    offers = frozenset({"lock", "election", "detach", "register", "list"})
    keeps_places = False

    @classmethod
    def missing(cls) -> str:
        lacks = super().missing()
        there = shutil.which(SERVER) or Path(f"/usr/sbin/{SERVER}").exists()
        return lacks or ("" if there else SERVER)

    def __init__(
        self,
        count: int = 1,
        session_s: float = LONG_S,
        certificates: Certificates | None = None,
    ):
        self.certificates = certificates
        super().__init__(count, session_s)

    def make_servers(self, count: int) -> list[ServerProcess]:
        assert count == 1
        data = self.home / "data"
        shutil.copytree(template(), data)
        port = free_port()
        self.server = MariaDbServer(self.home, data, port, self.certificates)
        return [self.server]

    @property
    def ports(self) -> list[int]:
        return [self.server.port]

    def url(
        self, query: str = "", ports: Sequence[int] = (), login: str = "ilk:secret"
    ) -> str:
        scheme = "mysql+tls" if self.certificates else "mysql"
        query = f"?{query}" if query else ""
        return f"{scheme}://{login}@{self.hosts(ports)}/{DATABASE}{query}"

    def remove_hold(self, name: str) -> None:
        """The fence begins anew, with the time."""
        deleted = self.server.sql(
            f"DELETE FROM ilk_lock WHERE kind = 'l' AND name = '{name}';"
            " SELECT ROW_COUNT()",
            DATABASE,
        )
        assert deleted == [["1"]], deleted

    def waiters(self, client: interlock.Client, name: str) -> int:
        """Of any name: an inspection knows those of its own client only."""
        found = self.server.sql(
            "SELECT COUNT(*) FROM information_schema.processlist"
            " WHERE user = 'ilk' AND state = 'User lock'"
        )
        return int(found[0][0])

    def connections(self) -> list[str]:
        found = self.server.sql(
            "SELECT id FROM information_schema.processlist WHERE user = 'ilk'"
        )
        return [row[0] for row in found]

    def end_sessions(self) -> None:
        for one in self.connections():
            try:
                self.server.sql(f"KILL {one}")
            except OSError as error:  # it has ended by itself
                assert "Unknown thread id" in str(error)
