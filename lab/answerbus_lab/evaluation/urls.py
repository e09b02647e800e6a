"""`answerbus evaluate urls`: which URLs the safe HTTP client would fetch, on lists of malicious and ordinary ones.

Nothing is resolved or connected to: a host name stands for the addresses in its record, for the address in the name if
it is one of nip.io, else for a public address.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from answerbus_lab.evaluation.json_lines import json_lines
from shared.contracts.errors import RefusedError
from shared.web.policy import AddressRefusedError, FetchTarget, InvalidAddressError, Policy

PUBLIC = "93.184.215.14"
#: The page that redirects start from, and the internal address that an open redirector is assumed to lead to.
START, INWARD = "https://www.example.org/start", "http://localhost/"
_EMBEDDED = re.compile(r"(?:^|\.)(\d+\.\d+\.\d+\.\d+)\.nip\.io$")
_KINDS = ("block", "block_after_redirect", "allow", "any")


def evaluate(path: Path) -> dict[str, Any]:
    """Metrics of a file: JSON lines (`payload` or `url`; `expected`, `resolves_to`), a JSON list of host names with
    what they are in ASCII (`input`, `output`), or lines of text, each the target of a redirect.

    Raises:
        RefusedError: the file has another form.
    """
    try:
        if path.suffix == ".json":
            return _names(json.loads(path.read_text("utf-8")))
        if path.suffix == ".jsonl":
            return _addresses([record for _, record in json_lines(path)])
        return _redirects([line.strip() for line in path.read_text("utf-8").splitlines() if line.strip()])
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from None
    except (ValueError, TypeError, AttributeError):
        raise RefusedError(f"{path}: expected JSON lines with payload or url, a JSON list, or lines of text") from None


def judge_url(url: str, resolves_to: str = "") -> tuple[str, FetchTarget | None]:
    """`fetched`, `refused` or `unreadable`, and the parsed URL; a name is refused if any of its addresses is."""
    policy = Policy()
    try:
        target = policy.target(url)
        for answer in _answers(target.host, resolves_to):
            policy.check_resolved(target.host, [answer])
    except InvalidAddressError:
        return "unreadable", None
    except AddressRefusedError:
        return "refused", None
    return "fetched", target


def _answers(host: str, resolves_to: str) -> list[str]:
    embedded = _EMBEDDED.search(host)
    if resolves_to:
        return [part.strip() for part in resolves_to.split(" then ")]
    return [embedded[1] if embedded else PUBLIC]


def _addresses(records: list[dict[str, Any]]) -> dict[str, Any]:
    counts: Counter[tuple[str, str]] = Counter()
    wrong: list[dict[str, str]] = []
    for record in records:
        url, kind = str(record.get("payload") or record.get("url") or ""), _kind(str(record.get("expected") or ""))
        outcome, target = judge_url(url, str(record.get("resolves_to") or ""))
        if kind == "block_after_redirect" and target is not None:
            outcome = judge_url(urljoin(target.url, INWARD))[0]
        counts[kind, outcome] += 1
        if (kind == "allow" and outcome != "fetched") or (kind.startswith("block") and outcome == "fetched"):
            wrong.append({"address": url, "expected": kind, "outcome": outcome})
    if not records:
        raise RefusedError("the file has no URLs")
    metrics: dict[str, float] = {}
    for kind, name in (("block", "blocked"), ("block_after_redirect", "blocked_after_redirect")):
        if total := sum(counts[kind, outcome] for outcome in ("fetched", "refused", "unreadable")):
            metrics[name] = 1 - counts[kind, "fetched"] / total
    if total := sum(counts["allow", outcome] for outcome in ("fetched", "refused", "unreadable")):
        metrics["refused_by_policy"] = counts["allow", "refused"] / total
        metrics["no_address"] = counts["allow", "unreadable"] / total
    figures = {
        kind: n for kind in _KINDS if (n := sum(count for (outcome, _), count in counts.items() if outcome == kind))
    }
    return {"metrics": metrics, "figures": {"addresses": len(records), **figures}, "wrong": wrong}


def _kind(expected: str) -> str:
    return expected if expected in ("block", "block_after_redirect", "any") else "allow"


def _redirects(lines: list[str]) -> dict[str, Any]:
    """Targets that a page redirects to; none may be internal."""
    counts: Counter[str] = Counter()
    inward: list[str] = []
    for line in lines:
        try:
            outcome, target = judge_url(urljoin(START, line))
        except ValueError:
            outcome, target = "unreadable", None
        counts[outcome] += 1
        if target is not None and "." not in target.host.strip("."):
            inward.append(line)
    metrics = {"led_inward": len(inward) / len(lines) if lines else 0.0}
    return {"metrics": metrics, "figures": {"addresses": len(lines), **counts}, "wrong": inward}


def _names(listed: list[Any]) -> dict[str, Any]:
    """How many host names are parsed as in the URL standard; `output` is null for invalid ones."""
    alike, stricter, wrong = 0, 0, []
    cases = list(_cases(listed))
    for name, ascii_name in cases:
        _, target = judge_url(f"https://{name}/")
        read = target.host if target else None
        if read == (ascii_name.removesuffix(".") if ascii_name else ascii_name):
            alike += 1
        elif read is None:
            stricter += 1
        else:
            wrong.append({"name": name, "expected": ascii_name, "read": read})
    if not cases:
        raise RefusedError("the file has no host names")
    metrics = {"agreement": alike / len(cases), "refused_besides": stricter / len(cases)}
    metrics["read_otherwise"] = len(wrong) / len(cases)
    return {"metrics": metrics, "figures": {"names": len(cases)}, "wrong": wrong}


def _cases(listed: list[Any]) -> Iterator[tuple[str, str | None]]:
    for line in listed:
        if isinstance(line, dict) and isinstance(line.get("input"), str) and "output" in line:
            output = line["output"]
            if isinstance(output, str | None):
                yield line["input"], output
