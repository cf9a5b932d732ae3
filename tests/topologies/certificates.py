# SPDX-License-Identifier: MIT
"""Certificates of servers, which are replaced while the servers run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def openssl(*words: str | Path) -> None:
    subprocess.run(
        ["openssl", *words], check=True, capture_output=True, timeout=60, text=True
    )


HERE = "IP:127.0.0.1,DNS:localhost"
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Authority:
    def __init__(self, home: Path, name: str):
        self.key, self.file = home / f"{name}-ca.key", home / f"{name}-ca.pem"
        subject = ("-subj", f"/CN=test {name}", "-days", "2")
        openssl(
            "req", "-x509", *NEW_KEY, *subject, "-keyout", self.key, "-out", self.file
        )

    def sign(self, home: Path, stem: str, names: str) -> None:
        """Make home/stem.pem and home/stem.key, or replace them."""
        request, extensions = home / "request", home / "extensions"
        key, certificate = home / "new.key", home / "new.pem"
        openssl(
            *("req", "-new", *NEW_KEY, "-subj", "/CN=server"),
            *("-keyout", key, "-out", request),
        )
        extensions.write_text(f"subjectAltName={names}\n")
        openssl(
            *("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.key),
            *("-CAcreateserial", "-days", "2", "-extfile", extensions),
            *("-out", certificate),
        )
        os.replace(key, home / f"{stem}.key")
        os.replace(certificate, home / f"{stem}.pem")


class Certificates:
    """Of two authorities. Servers trust both, and clients those in `trusted`."""

    def __init__(self, home: Path):
        self.home = home
        self.old, self.new = Authority(home, "old"), Authority(home, "new")
        self.trusted, self.both = home / "trusted.pem", home / "both.pem"
        self.write(self.both, self.old, self.new)
        self.trust(self.old)
        self.issue(self.old)

    def write(self, file: Path, *authorities: Authority) -> None:
        part = self.home / "part"
        part.write_bytes(b"".join(one.file.read_bytes() for one in authorities))
        os.replace(part, file)

    def trust(self, *authorities: Authority) -> None:
        """The authorities that clients trust from now on."""
        self.write(self.trusted, *authorities)

    def issue(self, by: Authority, stem: str = "server", names: str = HERE) -> None:
        by.sign(self.home, stem, names)

    def files(self, stem: str = "server") -> dict[str, str]:
        return {
            "tls-cert-file": str(self.home / f"{stem}.pem"),
            "tls-key-file": str(self.home / f"{stem}.key"),
        }

    def words(self, stem: str = "server") -> list[str]:
        """For CONFIG SET, at which a server reads the files again."""
        return [word for pair in self.files(stem).items() for word in pair]

    def settings(self) -> dict[str, str]:
        """Of a server without a port for clients that have no TLS."""
        return {
            **self.files(),
            "tls-ca-cert-file": str(self.both),
            "tls-auth-clients": "no",
            "port": "0",
        }

    def options(self) -> list[str]:
        """The settings, for the command line."""
        return [
            word
            for key, value in self.settings().items()
            for word in (f"--{key}", value)
        ]
