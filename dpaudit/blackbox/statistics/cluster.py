"""Connect to a Dask cluster by the address of its scheduler. Requires the extra ``dpaudit[dask]``."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from dpaudit.core.errors import InvalidParameterError

__all__ = [
    "TlsScheduler",
    "connect",
    "distributed",
    "packed",
    "private_cluster",
    "run_packed",
    "scheduler_of",
    "travel_with",
]

#: Time limit for the answer of a scheduler, in seconds.
CONNECT_SECONDS = 30


@dataclass(frozen=True, kw_only=True)
class TlsScheduler:
    """Address of a Dask scheduler with TLS, and the certificate files of this client.

    Parameters
    ----------
    address : str
        Such as ``"tls://HOST:8786"``.
    ca, cert, key : str
        Paths of PEM files: the authority that signed the cluster's certificates, this client's certificate,
        and its key.
    """

    address: str
    ca: str
    cert: str
    key: str

    def __str__(self) -> str:
        return self.address


def scheduler_of(
    address: str | None, *, ca: str | None, cert: str | None, key: str | None
) -> str | TlsScheduler | None:
    """Return the scheduler that a command line names: an address, with all three files or with none.

    Raises ``InvalidParameterError`` for some of the files, or files without an address.
    """
    files = (ca, cert, key)
    if all(file is None for file in files):
        return address
    if address is None or ca is None or cert is None or key is None:
        raise InvalidParameterError(
            "--tls-ca, --tls-cert and --tls-key require each other and --scheduler, got "
            f"{sum(file is not None for file in files)} of them"
            f"{'' if address is not None else ' and no address'}.",
            code="E-TLS-FILES-MISSING",
        )
    return TlsScheduler(address=address, ca=ca, cert=cert, key=key)


def distributed() -> Any:
    """Import the package ``distributed``. Raises ``InvalidParameterError`` if it is not installed."""
    try:
        return import_module("distributed")
    except ImportError as error:
        raise InvalidParameterError(
            'a Dask cluster requires the package distributed. Run pip install "dpaudit[dask]".',
            code="E-PACKAGE-MISSING",
        ) from error


def private_cluster(workers: int, folder: str) -> Any:
    """Start a cluster on this machine that accepts tasks from this process only.

    It uses TLS with certificates that exist in memory only, and keeps scratch files below ``folder``. Without
    TLS, any user of the machine could send code to it.

    Raises ``InvalidParameterError`` if a package is missing.
    """
    package = distributed()
    try:
        security = package.Security.temporary()
    except ImportError as error:
        raise InvalidParameterError(
            "a local Dask cluster requires the package cryptography for TLS. Run pip install "
            '"dpaudit[dask]".',
            code="E-PACKAGE-MISSING",
        ) from error
    return package.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        security=security,
        local_directory=folder,
        dashboard_address=None,
        # Use a free port. By default, all clusters of a machine try the same port, and print a warning.
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
    )


def connect(scheduler: Any) -> Any:
    """Return a client of a scheduler's address, a ``TlsScheduler``, or a cluster.

    Raises ``InvalidParameterError`` if the package is missing, a certificate cannot be read, or the scheduler
    does not answer, which includes missing encryption.
    """
    package = distributed()
    try:
        if not isinstance(scheduler, TlsScheduler):
            return package.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        security = package.Security(
            tls_ca_file=scheduler.ca,
            tls_client_cert=scheduler.cert,
            tls_client_key=scheduler.key,
            require_encryption=True,
        )
        return package.Client(
            scheduler.address, timeout=CONNECT_SECONDS, set_as_default=False, security=security
        )
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise InvalidParameterError(
            f"no Dask scheduler answered at {scheduler} ({error}).", code="E-SCHEDULER-NO-ANSWER"
        ) from error


def packed(task: Callable[[], Any]) -> bytes:
    """Return a task as bytes. A scheduler passes them on without the modules that the task imports."""
    found: bytes = import_module("cloudpickle").dumps(task)
    return found


def run_packed(task: bytes) -> Any:
    """Run a packed task on a worker, and return its result."""
    return pickle.loads(task)()


def travel_with(function: Any) -> None:
    """Send the module of ``function`` with it from now on, so that a cluster does not need it."""
    distributed()
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if module is not None:
        import_module("cloudpickle").register_pickle_by_value(module)
