"""Run all replays of one audit: choose pairs and histories, and collect unmet conditions.

Pairs are the suite's own and generated ones (``domains``), in both directions. Histories are sampled, forced
to where the distributions of affected sites differ most, forced by name, far out, and at quantiles of every
site (``quantiles``). Only the sampled ones depend on the run's seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.coins import Program, Recording, Replay, fingerprint, record, replay
from dpaudit.coins.limits import Limits, limited_memory
from dpaudit.coins.transcript import count_of
from dpaudit.core.errors import InvalidParameterError, MechanismError
from dpaudit.core.neighbours import Neighbours, both_directions
from dpaudit.core.suite import Run
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.changed_users import of_the_same_users, view_of
from dpaudit.replay.domains import Beside, Domain, Records, require_neighbours
from dpaudit.replay.findings import Findings, Subject, require_repeatable
from dpaudit.replay.histories import far_out, worst_history
from dpaudit.replay.input_order import DIFFERS, backwards, each_input
from dpaudit.replay.positions import everywhere
from dpaudit.replay.quantiles import quantile_histories
from dpaudit.replay.search import neighbouring_arrays, search_pairs
from dpaudit.replay.watch import Watch

__all__ = ["gather"]

#: Seed for the outcomes that a forced history does not choose, whatever the run's own seed is.
FORCED = 10
#: Largest number of generated pairs of one kind: corners of the domain, and random ones.
BESIDE = 8
#: Quantile histories: the number for a program of few steps, the least number, and a budget of steps. In the
#: quick profile the first pair has as many, and the other pairs half as many, bisections included.
MOST_QUANTILES, LEAST_QUANTILES, STEPS = 300, 24, 60_000
#: The least number of histories of one pair, whatever its share: patterns of several sites, and tails. If all
#: pairs need far more histories than the budget allows, the quick profile forces quantiles on only some of
#: them, in both directions, but never on fewer than LEAST_PAIRS. The others keep their sampled and forced
#: histories.
PER_PAIR, LEAST_PAIRS = 25, 4
#: Memory that a history far out may use in addition to what the process has.
MEGABYTES = 1024


def gather(audit: PrivacyAudit, run: Run, *, proved: bool = False) -> Findings:
    """Record and replay every pair, direction and history.

    ``proved`` says that a proof covers all pairs of the declared data. The quick profile then generates none.

    Raises ``MechanismError`` if the program does not repeat itself on the same input (it draws outside the
    coins or keeps state between calls, so no replay means anything), or if every run ends with an error.
    Raises ``InvalidParameterError`` for pairs that are not neighbours.
    """
    pairs = list(audit.neighbours(run))
    if not pairs:
        raise InvalidParameterError(
            "neighbours must return at least one pair, got none.", code="E-NEIGHBOURS-MISSING"
        )
    for pair in pairs:
        if not isinstance(pair, Neighbours):
            raise InvalidParameterError(
                f"neighbours must return pairs as Neighbours(name, left, right), got {type(pair).__name__}.",
                code="E-PAIR-TYPE",
            )
    claim = audit.claim
    unchecked = [require_neighbours(pair, claim.adjacency, claim.unit, audit.domain) for pair in pairs]
    for pair in pairs:
        view_of(pair, claim.view)  # raises if a user in the view changes
    inputs = [(pair.name, data) for pair in pairs for data in (pair.left, pair.right)]
    first, outside = _first_prints(audit, [data for _, data in inputs], run)
    watch = Watch(audit.program)  # after the first run, whose results a cache may hold
    watch.outside.update(outside)  # the first run alone may make a file
    longest = watch.limit
    subject = Subject(program=watch.program, claim=claim, sites=audit.sites, proof=audit.whole)
    findings = Findings(subject)
    found = _searched_pair(audit, run, watch, findings)
    if found is not None:
        pairs.append(found)
        findings.notes.append(
            f"smallest pair found by search: {found.left.tolist()} against {found.right.tolist()}"
        )
    findings.notes += list(dict.fromkeys(text for text in unchecked if text))
    limits, steps = _look(findings, audit, pairs, run.rng("replays"), watch)
    findings.limits, findings.lines = limits, steps
    share = 0.5 if run.profile == "quick" else 1.0
    domain = None if proved and run.profile == "quick" else audit.domain
    beside = [] if domain is None else _generated(findings, audit, domain, pairs, limits)
    _at_quantiles(findings, pairs, watch, limits, steps, share=share)
    if beside:  # on top: the listed pairs keep all of their histories
        _at_quantiles(findings, beside, watch, limits, steps, share=share / 2)
    _conclude(findings, watch)
    watch.limit = longest  # a run that does not end must be cut where the first one was
    for (name, data), before in zip(inputs, first, strict=True):
        if _print(watch, data, run) != before:
            raise MechanismError(
                "the program keeps state between calls: with the same input and coins, its last run on "
                f"{name!r} differs from its first. Use local variables only.",
                code="E-MECHANISM-STATE",
            )
    return findings


def _generated(
    findings: Findings, audit: PrivacyAudit, domain: Domain, pairs: Sequence[Neighbours], limits: Limits
) -> list[Neighbours]:
    """Replay pairs of the domain that the audit does not list, and return those with forced histories.

    Without a domain there are none: a pair outside the data that the author means refutes nothing.
    """
    claim = audit.claim
    rng = np.random.default_rng(FORCED)  # the same pairs for every row and seed
    made = domain.beside(pairs, claim.adjacency, rng, most=BESIDE)
    rng = np.random.default_rng(FORCED)
    looked = [
        [pair for pair in of_the_same_users(kind, pairs, claim.view) if _glance(findings, pair, rng, limits)]
        for kind in (made.corners, made.random, made.rest)
    ]
    beside = [pair for kind in looked for pair in kind]
    findings.tried += _tried(domain, made, looked)
    if not findings.refuted and (why := _untried(domain, made, looked)):
        findings.unsearched.append(why)
    if not domain.exhaustive:
        places = everywhere([*pairs, *beside], claim.adjacency, domain)
        for pair in of_the_same_users(places, pairs, claim.view):
            _touch(findings, pair, rng, limits)
    return beside


def _first_prints(
    audit: PrivacyAudit, inputs: Sequence[Any], run: Run
) -> tuple[list[str], Mapping[str, None]]:
    """Return fingerprints of the program's first runs, and what these runs did outside the process.

    Raises ``MechanismError`` if the fingerprints differ when the inputs come in reverse order.
    """
    unused = Watch(audit.program)

    def prints() -> list[str]:
        return each_input(inputs, lambda data: _print(unused, data, run))

    with backwards(prints) as copies:
        found, answers = prints(), copies.answers()
    if answers is not None and answers != [found]:
        raise MechanismError(DIFFERS, code="E-MECHANISM-STATE")
    return found, unused.outside


def _print(watch: Watch, data: Any, run: Run) -> str:
    rng = run.rng("same input")
    return fingerprint(record(watch.program, data, rng=rng, keep_errors=True, limits=Limits()))


def _look(
    findings: Findings,
    audit: PrivacyAudit,
    pairs: Sequence[Neighbours],
    rng: np.random.Generator,
    watch: Watch,
) -> tuple[Limits, int]:
    """Follow the histories of every pair: sampled, in the tails of affected sites, forced by name, far out.

    Returns the limits of a run, which follow from the sampled histories, and the number of lines that the
    longest of these executed.
    """
    program = watch.program
    sites = values = steps = 0
    for pair in both_directions(pairs):
        for _ in range(audit.samples):
            recording = record(program, pair.left, rng=rng, keep_errors=True, limits=Limits())
            if not recording.cut:  # a run that was cut does not show how long a run is
                sites = max(sites, len(recording.sites))
                values = max(values, sum(count_of(site.value) for site in recording.sites))
                steps = max(steps, watch.steps)
            require_repeatable(program, pair, recording)
            findings.losses.append(float(findings.replay(pair, "sampled", recording).loss()))
            if watch.stopped:  # no other endless run needs to take as long
                watch.limit = min(watch.limit, _lines_allowed(steps))
    limits = Limits(sites=10 * sites + 100, values=20 * values + 100_000)
    watch.limit = _lines_allowed(steps)
    for pair in both_directions(pairs):
        if findings.refuted:
            break
        for name, choice in {"tails": None, **audit.histories}.items():
            chosen = None if choice is None else watch.aside(choice)
            _follow(findings, program, pair, f"forced ({name})", limits, choice=chosen)
        for name, direction in (("all far up", 1), ("all far down", -1)):
            with limited_memory(MEGABYTES):
                far = far_out(direction)
                _follow(findings, program, pair, f"forced ({name})", limits, choice=far, rounds=1)
    if not findings.ended:
        got = findings.errors[0].rstrip(".") if findings.errors else "no end"
        raise MechanismError(
            f"the program did not finish on any history: {got}. Fix the program or its data.",
            code="E-MECHANISM-NO-END",
        ) from _own_error(program, pairs[0].left, rng)
    return limits, steps


def _lines_allowed(steps: int) -> int:
    """Return how many lines a run may execute if the longest one that ended executed ``steps``."""
    return 20 * steps + 20_000


def _own_error(program: Program, data: Any, rng: np.random.Generator) -> BaseException | None:
    """Return the error of a program that raises, for its traceback."""
    try:
        record(program, data, rng=rng, limits=Limits())
    except (MechanismError, InvalidParameterError) as error:
        return error.__cause__ or error
    return None


def _follow(
    findings: Findings, program: Program, pair: Neighbours, how: str, limits: Limits, **options: Any
) -> None:
    """Force one history towards the largest loss. It does not depend on the run's seed."""
    rng = np.random.default_rng(FORCED)
    options["replayed"] = lambda recording: findings.subject.replay(pair, recording)
    for result in worst_history(program, pair, rng=rng, keep_errors=True, limits=limits, **options):
        findings.note(pair, how, result)


def _glance(findings: Findings, pair: Neighbours, rng: np.random.Generator, limits: Limits) -> bool:
    """Replay a pair that the audit does not list, in both directions: one sampled history and its tails.

    Returns whether the pair was tried. After a refutation it is not.
    """
    if findings.refuted:
        return False
    program = findings.subject.program
    for directed in both_directions([pair]):
        recording = record(program, directed.left, rng=rng, keep_errors=True, limits=limits)
        require_repeatable(program, directed, recording)
        findings.replay(directed, "sampled", recording)
        _follow(findings, program, directed, "forced (tails)", limits, rounds=2)
    return True


def _tried(domain: Domain, made: Beside, looked: Sequence[Sequence[Neighbours]]) -> list[str]:
    """Describe the generated pairs of the domain that were replayed."""
    corners, random, rest = map(len, looked)
    if isinstance(domain, Records):
        return [f"{corners} corner pairs and {random} random pairs of {domain}"]
    return [f"{rest} other pairs of {domain}"] if made.rest else []


def _untried(domain: Domain, made: Beside, looked: Sequence[Sequence[Neighbours]]) -> str:
    """Return why no pair of the domain was replayed, or "" if one was or none was needed."""
    if not made.made:
        return f"no pair of {domain} could be generated with the types and shapes of the listed pairs"
    if made.pairs and not any(looked):
        return (
            f"no pair of {domain} could be replayed: the listed pairs do not show which user a record "
            "belongs to"
        )
    return ""


def _touch(findings: Findings, pair: Neighbours, rng: np.random.Generator, limits: Limits) -> None:
    """Compare one sampled history of a pair that changes another position with the accounting."""
    if findings.refuted:
        return
    recording = record(findings.subject.program, pair.left, rng=rng, keep_errors=True, limits=limits)
    findings.replay(pair, "sampled", recording)


def _at_quantiles(
    findings: Findings,
    pairs: Sequence[Neighbours],
    watch: Watch,
    limits: Limits,
    steps: int,
    *,
    share: float,
) -> None:
    """Force quantiles of every site, spread over pairs and directions, and bisections between them.

    A program of many ``steps`` gets fewer. If ``share`` is below 1, all pairs but the first get that share,
    and only some of many pairs are used.
    """
    whole = int(min(MOST_QUANTILES, max(LEAST_QUANTILES, STEPS / (steps + 100))))
    directed = both_directions(pairs)
    beside = int(share * whole)
    each = max(6, beside // len(directed))
    stride = max(1, len(directed) * each // max(beside, each))
    if share < 1:
        stride = max(stride, len(directed) // max(LEAST_PAIRS, beside // PER_PAIR))
        stride += 1 - stride % 2  # odd, so that both directions are used
    chosen = directed[::stride]
    for number, pair in enumerate(chosen):
        values = each if number else max(each, whole // 3)  # one pair in detail: narrow windows
        halvings = each if number else max(6, whole // len(directed))
        for item in quantile_histories(watch, pair, values=values, halvings=halvings, limits=limits):
            if findings.refuted:
                return
            findings.replay(pair, f"forced ({item.words})", item.recording)


def _conclude(findings: Findings, watch: Watch) -> None:
    """Collect the unmet conditions other than leaks and broken accounting, and the notes."""
    _note_files(findings, watch)
    findings.unmet += findings.additions.objections()
    if findings.unseen:
        names = ", ".join(map(repr, [*findings.unseen][:5]))
        findings.notes.append(
            f"site {names} differs between the inputs but is outside the adversary's view, so it was not "
            "compared"
            if len(findings.unseen) == 1
            else f"sites {names} differ between the inputs but are outside the adversary's view, so they "
            "were not compared"
        )
    for why, where in findings.cut.items():
        findings.notes.append(f"a history was cut short: the program reached {why} ({where})")
    if findings.errors:
        count = len(findings.errors)
        findings.notes.append(f"{count} runs ended with an error, such as {findings.errors[0]}")
    if findings.tried:
        findings.notes.append(f"input pairs: the suite's own, and {' and '.join(findings.tried)}")


def _note_files(findings: Findings, watch: Watch) -> None:
    """Collect files that the program changed, as an unmet condition, and note traced files of packages."""
    if watch.outside:
        findings.unmet.append(
            f"state outside the process: the program {', '.join([*watch.outside][:3])}, and a later run may "
            "read what an earlier one left there"
        )
    findings.notes += [
        f"traced in an installed package: {Path(file).name}, SHA-256 {digest}"
        for file, digest in watch.sources().items()
    ]


def _searched_pair(audit: PrivacyAudit, run: Run, watch: Watch, findings: Findings) -> Neighbours | None:
    """Return the smallest pair found that costs more than the declared total if everything is visible."""
    if audit.searched is None or audit.domain is None:
        return None
    tried = 0

    def score(pair: Neighbours) -> float:
        nonlocal tried
        if not of_the_same_users([pair], [pair], audit.claim.view):
            return 0.0  # a user in the view
        tried += 1
        view, rng = view_of(pair, audit.claim.view), run.rng("search")

        def replayed(recording: Recording) -> Replay:
            return replay(watch.program, pair.right, recording, view=view, counted=findings.subject.counted)

        limits = Limits()
        replays = worst_history(watch.program, pair, rng=rng, rounds=3, limits=limits, replayed=replayed)
        return max((abs(float(result.loss())) for result in replays), default=0.0)

    records, width = audit.searched
    seed = int(run.seed_sequence("search").generate_state(1)[0])
    found = search_pairs(
        neighbouring_arrays(
            records=records,
            width=width,
            levels=audit.domain.levels(),
            adjacency=audit.claim.adjacency,
        ),
        score,
        threshold=float(audit.declared) * (1 + 1e-6),
        examples=run.choose(quick=200, full=2000),
        seed=seed,
    )
    size = f"at most {records} records" + (f" of {width} numbers" if width is not None else "")
    findings.tried.append(f"a guided search through {tried} pairs of {size}")
    return found
