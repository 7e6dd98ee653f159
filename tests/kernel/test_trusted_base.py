"""The trusted base: what a check imports, how large each tier is, and what the first tier does alone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpaudit.certify import build
from dpaudit.certify.sites import Site
from dpaudit.core.claims import (
    Accounting,
    Adjacency,
    ApproxDP,
    Claim,
    PureDP,
    RenyiDP,
    SubGaussian,
    Unit,
    ZeroConcentratedDP,
)
from dpaudit.kernel import kernel_t0
from dpaudit.kernel.check import examine, known_rules
from dpaudit.verify.trusted import claim_lines, program_lines, trusted_lines

KERNEL = Path(kernel_t0.__file__).parent
ALONE = KERNEL / "kernel_t0.py"

PURE = PureDP(epsilon=9)

#: What any import of the package loads: the names that it offers, and the finder of former ones.
DOOR = ("dpaudit", "dpaudit.moved")


def in_a_fresh_process(code: str) -> str:
    """What a new isolated interpreter prints."""
    folder = str(KERNEL.parent.parent)
    start = f"import sys; sys.path.insert(0, {folder!r}); "
    done = subprocess.run(
        [sys.executable, "-I", "-c", start + code], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_kernel_imports_nothing_else_of_the_package() -> None:
    """Importing the checker loads its own folder, the package's lazy door, and no other module of dpaudit."""
    loaded = in_a_fresh_process(
        "import dpaudit.kernel.check; print(*sorted(m for m in sys.modules if m.split('.')[0] == 'dpaudit'))"
    ).split()
    assert [m for m in loaded if m not in DOOR and not m.startswith("dpaudit.kernel")] == []


def test_the_kernel_imports_python_flint_and_the_standard_library_only() -> None:
    """No numpy, no scipy: besides dpaudit the checker loads flint and what Python ships."""
    loaded = in_a_fresh_process(
        "before = set(sys.modules); import dpaudit.kernel.check; "
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before}))"
    ).split()
    named = {name for name in loaded if not name.startswith(("_cython", "cython_runtime"))}  # flint's own
    assert named - set(sys.stdlib_module_names) <= {"dpaudit", "flint"}


def test_no_tier_looks_up() -> None:
    """T0 imports the standard library only, and no file of T1 imports T2."""
    text = ALONE.read_text()
    assert "dpaudit." not in "".join(line for line in text.splitlines() if "import" in line)
    for path in KERNEL.glob("t1/*.py"):
        assert "kernel.t2" not in path.read_text(), path.name


def test_the_tiers_stay_small() -> None:
    """Lines of code: T0 at most 420 in one file, T1 at most 2,020, T2 at most 1,700 more; programs 400,
    and what ties them to claims 250."""
    lines = trusted_lines()
    assert lines["T0"] <= 420
    assert lines["T1"] <= 2020
    assert lines["T2"] <= 1700
    assert program_lines() <= 400
    assert claim_lines() <= 250


def test_the_page_on_verifying_says_how_many_lines_each_tier_has() -> None:
    """The numbers of the page are those that ``verify`` prints, to within 5 %."""
    page = (KERNEL.parents[1] / "docs" / "verify.md").read_text(encoding="utf-8")
    said = re.findall(r"\*(T[012])\*.*?([0-9][0-9,]*) lines of code", page, flags=re.DOTALL)
    lines = trusted_lines()
    assert [tier for tier, _ in said] == [*lines]
    for tier, number in said:
        assert abs(int(number.replace(",", "")) - lines[tier]) <= 0.05 * lines[tier], tier


def report_of(*rows: tuple[str, Claim, build.Proof]) -> dict[str, Any]:
    """A report as far as the stand-alone tier reads it."""
    return {
        "results": [
            {"id": name, "claim": claim.to_json(), "evidence": [proof.certify(claim).to_json()]}
            for name, claim, proof in rows
        ]
    }


def run_alone(report: Any, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """``python kernel_t0.py report.json`` on a copy of the file, far from the package."""
    script, file = tmp_path / "kernel_t0.py", tmp_path / "report.json"
    script.write_text(ALONE.read_text())
    file.write_text(report if isinstance(report, str) else json.dumps(report))
    command = [sys.executable, "-I", str(script), str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


LAPLACE = build.laplace_mechanism(sensitivity=1, scale=2)


def test_t0_alone_rederives_rational_certificates_and_names_the_others(tmp_path: Path) -> None:
    """Each certificate is re-derived, or sent to the tier that the whole kernel needs for it."""
    accounted = build.accounted([Site("sum", touches=2, mechanism=LAPLACE)], declared="two sums a record")
    skellam = build.integer_noise("skellam", sensitivity=1, variance=9)
    rows: list[tuple[str, Claim, build.Proof]] = [
        ("pure", PURE, build.compose_parallel([LAPLACE, build.tree_mechanism(LAPLACE, leaves=8)])),
        ("sums", Accounting(epsilon=9, declared="two sums a record"), accounted),
        ("rho", ZeroConcentratedDP(rho=9), build.gaussian_mechanism(sensitivity=1, scale=2)),
        ("zero", ApproxDP(epsilon=1, delta=1), LAPLACE),
        ("table", PURE, build.finite_mechanism([["1/4", "3/4"], ["3/4", "1/4"]])),
        ("renyi", RenyiDP(order=2, epsilon=9), LAPLACE),
        ("skellam", ApproxDP(epsilon=1, delta=1), skellam),
        ("phi", ApproxDP(epsilon=1, delta=1), build.gaussian_mechanism(sensitivity=1, scale=2)),
    ]
    done = run_alone(report_of(*rows), tmp_path)
    assert done.returncode == 0, done.stderr
    said = {line[8:].split(":")[0]: line.split()[0] for line in done.stdout.splitlines()[:-1]}
    assert said == {
        **dict.fromkeys(["pure", "sums", "rho", "zero"], "T0"),
        **dict.fromkeys(["table", "renyi", "skellam"], "T1"),
        "phi": "T2",
    }
    for name, claim, proof in rows:
        assert examine(proof.certify(claim), claim).tier == said[name], name
    assert (
        done.stdout.splitlines()[-1] == "4 re-derived, 0 above their claims, 3 need T1, 1 need T2, 0 refused"
    )


def test_t0_alone_confirms_no_stronger_claim(tmp_path: Path) -> None:
    """A certificate beside a smaller claim is named, and fails the check if the row is verified."""
    report = report_of(("x", PureDP(epsilon=1), LAPLACE))
    [row] = report["results"]
    for claim, verdict, code, word in (
        (PureDP(epsilon=1), "verified", 0, "T0"),
        (PureDP(epsilon="1/4"), "refuted", 0, "above"),
        (PureDP(epsilon="1/4"), "verified", 1, "above"),
        (PureDP(epsilon=1, domain="other data"), "verified", 1, "refused"),
    ):
        row.update(claim=claim.to_json(), verdict=verdict)
        done = run_alone(report, tmp_path)
        assert (done.returncode, done.stdout.split()[0]) == (code, word), done.stdout
        assert word == "refused" or f"'epsilon_exact': '{claim.epsilon}'" in done.stdout
        assert word == "refused" or claim.domain in done.stdout


def test_t0_alone_refuses_what_is_forged(tmp_path: Path) -> None:
    """A lower bound, a dropped assumption, another claim: exit code 1; a key given twice or no JSON: 2."""
    good = report_of(("x", PURE, build.post_processing(LAPLACE, function="rounding")))
    assert run_alone(good, tmp_path).returncode == 0

    def forged(change: Any) -> int:
        report = json.loads(json.dumps(good))
        change(report["results"][0])
        return run_alone(report, tmp_path).returncode

    assert forged(lambda row: row["evidence"][0].update(bound="1/3")) == 1
    assert forged(lambda row: row["evidence"][0].update(assumptions=[])) == 1
    assert forged(lambda row: row["claim"].update(adjacency="add-remove")) == 1
    assert forged(lambda row: row["claim"].pop("adjacency")) == 1
    assert forged(lambda row: row["claim"].update(epsilon=1.0)) == 1
    assert run_alone(json.dumps(good).replace('"bound"', '"bound": "9", "bound"'), tmp_path).returncode == 2
    assert run_alone("{", tmp_path).returncode == 2


@pytest.mark.parametrize("text", ["１/2", "٣", "1_000", " 1", "1e99999", "1/0", "0x10", "nan", "1.", ""])
def test_numbers_are_plain_ascii(text: str) -> None:
    """Digits of other scripts, separators, blanks and numbers out of range are refused."""
    with pytest.raises(kernel_t0.CertificateError):
        kernel_t0.rational(text, "x")


def test_every_rule_has_its_proof_on_the_page() -> None:
    """Statement, conditions and proof of every rule stand in ``proofs.md``, which ships with the kernel."""
    page = (KERNEL / "proofs.md").read_text()
    sections = {line.removeprefix("## ").strip() for line in page.splitlines() if line.startswith("## ")}
    assert set(known_rules()) <= {
        name for section in sections for name in section.replace("`", "").split(", ")
    }
    for section in page.split("\n## ")[1:]:
        assert "Conditions." in section, section.splitlines()[0]
        assert "Proof." in section, section.splitlines()[0]


def test_a_noise_claim_has_no_privacy_bound() -> None:
    """A rule about noise says nothing of privacy, and a mechanism says nothing about noise."""
    with pytest.raises(kernel_t0.CertificateError):
        LAPLACE.certify(SubGaussian(variance_proxy=1, of="Laplace(scale=2)"))


def test_t0_alone_prints_one_plain_line_a_certificate(tmp_path: Path) -> None:
    """Line breaks, escape sequences and letters of other scripts in ids and texts are written as escapes."""
    report = report_of(("x", PURE, build.post_processing(LAPLACE, function="a\n\u0430b")))
    report["results"][0]["id"] = "x: epsilon <= 1/100\nT0\x1b[1A\u202e      y"
    done = run_alone(report, tmp_path)
    assert done.stdout.isascii()
    assert len(done.stdout.splitlines()) == 2
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("unit", list(Unit))
def test_an_accounting_has_the_setting_of_its_claim(adjacency: Adjacency, unit: Unit) -> None:
    """What is derived for an accounting rests on the same neighbours as the claim that it is the proof of."""
    proofs = [
        build.laplace_mechanism(sensitivity=build.BoundedSum(0, 1), scale=1),
        build.compose_parallel([LAPLACE]),
        build.tree_mechanism(LAPLACE, leaves=4),
        build.report_noisy_max(sensitivity=1, scale=1, range="monotone"),
        build.group_privacy(LAPLACE, events=2, declared="two a user"),
    ]
    claim = PureDP(epsilon=9, adjacency=adjacency, unit=unit)
    accounting = Accounting(epsilon=9, declared="x", adjacency=adjacency, unit=unit)

    def outcome(proof: build.Proof, about: Claim) -> Any:
        try:
            certificate = proof.certify(about)
        except kernel_t0.CertificateError as error:
            return str(error)
        return certificate.bound, certificate.assumptions

    for proof in proofs:
        assert outcome(proof, claim) == outcome(proof, accounting)
