"""Rows elsewhere: joblib's workers and a Dask cluster give the report of this machine's processes, a lost
worker's rows run again, and a worker with other sources is refused.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dpaudit.blackbox.statistics.cluster import TlsScheduler
from dpaudit.core.errors import InvalidParameterError
from dpaudit.run import backends
from dpaudit.run.backends import start_backend
from dpaudit.run.process import Pool
from dpaudit.run.remote import Asked, RemoteError, answer, end_run, stamp_of
from dpaudit.run.targets import SuiteFile, find_suites
from tests.cli.suites import RAISES, REFUTED, VERIFIED, invoke, write_suite
from tests.errors import raises

PROGRAM = """
@suite.row("drawn", title="numbers of the row's own seed", kind="utility", claim=CLAIM, fingerprint=str)
def drawn(run):
    count("drawn")
    found = float(np.random.default_rng(run.seed).uniform(0.1, 0.5))
    return Outcome([exactly(0, found)], notes=[os.environ["PYTHONHASHSEED"]])
"""

#: The first time, the row ends the process of the cluster that serves it.
LOSES_A_WORKER = """
@suite.row("lost", title="loses its worker once", kind="utility", claim=CLAIM)
def lost(run):
    count("lost")
    if (Path(__file__).parent / "lost.ran").read_text() == "x":
        pid = os.getpid()
        while b"multiprocessing" not in Path(f"/proc/{pid}/cmdline").read_bytes():
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(pid, 9)
        time.sleep(60)
    return Outcome([exactly(0, 0.5)])
"""


def report_of(suite: Path, backend: str) -> dict[str, Any]:
    """The report of a run on two processes, without what says when and how it was started."""
    path = suite.parent / f"{backend}.json"
    done = invoke("run", suite, "--jobs", 2, "--backend", backend, "--json", path, "--no-html")
    assert done.exit_code in (0, 3), done.output
    report: dict[str, Any] = json.loads(path.read_text())
    del report["stamps"]["started"], report["stamps"]["finished"], report["stamps"]["command"]
    for result in report["results"]:
        del result["seconds"]
    return report


@pytest.mark.parametrize("backend", ["joblib", "dask"])
def test_every_backend_gives_the_report_of_the_processes_here(tmp_path: Path, backend: str) -> None:
    """Field by field, a crashed row's traceback included."""
    if backend == "dask":
        pytest.importorskip("distributed")
        pytest.importorskip("cryptography")
    suite = write_suite(tmp_path / "suite.py", VERIFIED, REFUTED, PROGRAM, RAISES)
    here = report_of(suite, "processes")
    assert {result["verdict"] for result in here["results"]} == {"verified", "refuted", "crashed"}
    assert report_of(suite, backend) == here


def test_the_rows_of_a_lost_worker_run_again(tmp_path: Path) -> None:
    """The cluster's process is killed in the middle of a row: the row ends up as if nothing had happened."""
    pytest.importorskip("distributed")
    pytest.importorskip("cryptography")
    suite = write_suite(tmp_path / "suite.py", LOSES_A_WORKER, VERIFIED)
    results = {item["id"]: item for item in report_of(suite, "dask")["results"]}
    assert (tmp_path / "lost.ran").read_text() == "xx"
    assert {name: item["verdict"] for name, item in results.items()} == {
        "lost": "verified",
        "fine": "verified",
    }


def test_a_cluster_of_this_machine_obeys_its_own_run_alone(tmp_path: Path) -> None:
    """It speaks TLS with certificates of its own, so that no stranger's client is let in, and its scratch
    files lie in a folder that only this user can read, and which is gone afterwards."""
    pytest.importorskip("distributed")
    pytest.importorskip("cryptography")
    cluster, _ = start_backend("dask", jobs=1)
    assert isinstance(cluster, backends._Dask)
    assert cluster._scratch is not None
    folder, address = Path(cluster._scratch.name), str(cluster._cluster.scheduler_address)
    try:
        assert address.startswith("tls://127.0.0.1:")
        assert folder.stat().st_mode & 0o077 == 0
        assert any(folder.iterdir())
        host, port = address.removeprefix("tls://").split(":")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with (
            socket.create_connection((host, int(port)), timeout=20) as plain,
            pytest.raises(ssl.SSLError),  # it asks for a certificate, which a stranger does not have
            context.wrap_socket(plain) as encrypted,
        ):
            encrypted.recv(1)
        assert cluster._client.submit(sum, [1, 2]).result(timeout=30) == 3
    finally:
        cluster.close()
    assert not folder.exists()


def test_an_outer_scheduler_is_spoken_to_with_certificates(tmp_path: Path) -> None:
    """A cluster that encrypts runs rows for a client with its three files; some of them, or a file that is
    not there, are refused."""
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("cryptography")
    security = distributed.Security.temporary()
    own = []
    for kind in ("tls_ca_file", "tls_client_cert", "tls_client_key"):
        file = tmp_path / f"{kind}.pem"
        file.write_text(getattr(security, kind), encoding="ascii")
        own.append(str(file))
    suite = write_suite(tmp_path / "suite.py", VERIFIED)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, security=security, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        run = ("run", suite, "--backend", "dask", "--json", tmp_path / "r.json", "--no-html")
        options = [(f"--tls-{kind}", file) for kind, file in zip(("ca", "cert", "key"), own, strict=True)]
        done = invoke(*run, "--scheduler", address, *(word for pair in options for word in pair))
        assert done.exit_code == 0, done.output
        broken = TlsScheduler(address=address, ca=str(tmp_path / "none"), cert=own[1], key=own[2])
        with pytest.raises(InvalidParameterError, match="no Dask scheduler answered"):
            start_backend("dask", scheduler=broken)
    assert invoke(*run, "--scheduler", address, *options[0]).exit_code == 2
    assert invoke(*run, *(word for pair in options for word in pair)).exit_code == 2


READS = """
@suite.row("reads", title="reads a file of the folder that it runs in", kind="utility", claim=CLAIM)
def reads(run):
    return Outcome([exactly(0, float(Path("limit.txt").read_text()))])
"""


def asked(tmp_path: Path, *rows: str, row: str = "fine", run: str = "test") -> Asked:
    file = find_suites([str(write_suite(tmp_path / "suite.py", *(rows or (VERIFIED,))))])[0]
    command = {"do": "evaluate", "row": row, "seed": 0, "alpha": 0.05, "profile": "quick"}
    return Asked(
        run=run,
        folder=str(tmp_path),
        also=(),
        path=str(file.path),
        root=str(file.root),
        label=file.label,
        stamp=stamp_of(file),
        command=command,
        seconds=60,
        seed=0,
    )


def test_a_process_with_other_versions_is_refused(tmp_path: Path) -> None:
    """A process with other versions or sources names the difference and does not run the row."""
    sent = asked(tmp_path)
    for index, (name, _) in enumerate(sent.stamp):
        changed = [*sent.stamp[:index], (name, "another"), *sent.stamp[index + 1 :]]
        with raises(RemoteError, code="E-REMOTE-VERSION", match=name):
            answer(replace(sent, stamp=tuple(changed)))
    assert not (tmp_path / "fine.ran").exists()
    try:
        assert answer(sent)["finding"]["verdict"] == "verified"
    finally:
        end_run("test")


@pytest.fixture
def ended() -> Iterator[None]:
    """Ends what this process does for the runs of a test."""
    yield
    for run in ("test", "second", "third"):
        end_run(run)


def test_a_process_that_outlives_an_edit_reads_the_sources_again(tmp_path: Path, ended: None) -> None:
    """After an edit a process serves the new suite, and refuses a run that was planned before."""
    before = asked(tmp_path)
    assert answer(before)["finding"]["verdict"] == "verified"
    after = asked(tmp_path, VERIFIED.replace("exactly(0.25, 0.5)", "exactly(2, 2)"), run="second")
    assert after.stamp != before.stamp
    assert answer(after)["finding"]["verdict"] == "refuted"
    with raises(RemoteError, code="E-REMOTE-VERSION", match="the suite's sources"):
        answer(replace(before, run="third"))


def test_an_edit_just_before_the_import_is_noticed(
    tmp_path: Path, ended: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sources are compared again after the import, so an edited suite gives no answer."""
    sent = asked(tmp_path)

    def edited(self: Pool, file: SuiteFile, command: Any, **options: Any) -> Any:
        file.path.write_text(file.path.read_text() + "# edited")
        return ask(self, file, command, **options)

    ask = Pool.ask
    monkeypatch.setattr(Pool, "ask", edited)
    with raises(RemoteError, code="E-REMOTE-VERSION", match="the suite's sources"):
        answer(sent)


def test_rows_run_in_the_folder_of_the_run(
    tmp_path: Path, ended: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows run in the folder of the run, and a folder that is missing is named."""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "here" / "limit.txt").write_text("0.5")
    (tmp_path / "there" / "limit.txt").write_text("2")
    monkeypatch.chdir(tmp_path / "there")
    sent = replace(asked(tmp_path, READS, row="reads"), folder=str(tmp_path / "here"))
    assert answer(sent)["finding"]["verdict"] == "verified"
    with raises(RemoteError, code="E-REMOTE-FOLDER", match="nowhere"):
        answer(replace(sent, run="second", folder=str(tmp_path / "nowhere")))


def test_a_frozen_scheduler_holds_up_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ending a cluster takes a limited time, even if the scheduler does not answer."""
    monkeypatch.setattr(backends, "END_SECONDS", 0.1)
    cluster: Any = object.__new__(backends._Dask)
    cluster._run, cluster._cluster, cluster._scratch = "run", None, None
    cluster._client = SimpleNamespace(run=lambda *_, **__: threading.Event().wait(60))
    begun = time.monotonic()
    cluster._end()
    assert time.monotonic() - begun < 30


def test_a_process_without_the_suite_is_refused(tmp_path: Path) -> None:
    """An error about a missing suite names its path."""
    sent = replace(asked(tmp_path), path=str(tmp_path / "elsewhere.py"))
    with raises(RemoteError, code="E-REMOTE-SUITE", match=r"elsewhere\.py"):
        answer(sent)


def test_an_address_needs_the_backend_that_has_one() -> None:
    """A scheduler with another backend is refused, and so is an address without a scheduler."""
    with raises(InvalidParameterError, code="E-SCHEDULER-BACKEND"):
        start_backend("processes", scheduler="tcp://127.0.0.1:9")
