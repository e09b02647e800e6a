"""How good rankings are, read from files, measured, compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from answerbus_lab.evaluation import patience
from answerbus_lab.evaluation.beir import read_collection
from answerbus_lab.evaluation.ranking_metrics import compare, interval, intervals, means, measures
from answerbus_lab.evaluation.retrieval import read_run
from typer.testing import CliRunner

from cli.main import app
from shared.contracts.errors import RefusedError, TransientError, UnavailableError

DOCUMENTS = [
    {"_id": "d1", "title": "Parking", "text": "Parking is free after six in the evening."},
    {"_id": "d2", "title": "Dogs", "text": "Dogs are welcome in the garden on a leash."},
    {"_id": "d3", "title": "Tickets", "text": "Tickets are sold at the gate and online."},
]
QUERIES = [{"_id": "q1", "text": "where are tickets sold"}, {"_id": "q2", "text": "may dogs enter the garden"}]


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _write(tmp_path / "corpus.jsonl", DOCUMENTS)
    _write(tmp_path / "queries.jsonl", QUERIES)
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td3\t1\nq2\td2\t2\nq2\td1\t0\n")
    return tmp_path


# --- measures ---


def test_recall_is_only_measured_where_documents_were_ranked() -> None:
    assert [name for name in measures(["a"], {"a": 1}, 10) if name.startswith("R@")] == ["R@2", "R@5", "R@10"]
    assert "R@100" in measures(["a"], {"a": 1}, 100)


def test_measures_of_a_ranking_are_those_of_the_textbook() -> None:
    got = measures(["x", "a", "y", "b"], {"a": 1, "b": 1, "c": 1})
    assert got["MRR@10"] == 0.5
    assert got["R@2"] == pytest.approx(1 / 3)
    assert got["R@5"] == pytest.approx(2 / 3)
    assert (got["hit@1"], got["hit@5"], got["all-recall@5"]) == (0.0, 1.0, 0.0)
    # gains at ranks 2 and 4, against three ideal ones
    assert got["nDCG@10"] == pytest.approx((0.63093 + 0.43068) / (1 + 0.63093 + 0.5), abs=1e-4)


def test_measures_of_the_best_ranking_are_one_and_of_none_zero() -> None:
    assert set(measures(["a", "b"], {"a": 2, "b": 1}).values()) == {1.0}
    assert set(measures([], {"a": 1}).values()) == {0.0}


def test_interval_holds_the_mean_and_is_the_same_every_time() -> None:
    values = [0.0, 1.0] * 20
    low, high = interval(values)
    assert low < 0.5 < high
    assert interval(values) == (low, high)
    assert interval([0.25] * 9) == (0.25, 0.25)


def test_means_and_intervals_are_by_measure() -> None:
    per_query = {"q1": {"hit@1": 1.0}, "q2": {"hit@1": 0.0}}
    assert means(per_query) == {"hit@1": 0.5}
    assert intervals(per_query)["hit@1"][0] <= 0.5


def test_compare_finds_a_difference_that_is_there_and_none_where_there_is_none() -> None:
    better = {f"q{n}": {"m": 0.9} for n in range(30)}
    worse = {f"q{n}": {"m": 0.2 + n / 1000} for n in range(30)}
    assert compare(better, worse)["m"]["difference"] == pytest.approx(0.6855)
    assert compare(better, worse)["m"]["p"] == 0.0
    assert compare(better, better)["m"]["p"] == 1.0


def test_compare_needs_queries_in_common() -> None:
    with pytest.raises(ValueError, match="no query in common"):
        compare({"a": {"m": 1.0}}, {"b": {"m": 1.0}})


# --- test collections ---


def test_collection_in_the_layout_of_beir_is_read(folder: Path) -> None:
    read = read_collection(folder, corpus="corpus.jsonl", queries="queries.jsonl", qrels="qrels.tsv")
    assert [one.document.source for one in read.documents] == ["kb:d1", "kb:d2", "kb:d3"]
    assert [(one.id, dict(one.relevant)) for one in read.queries] == [("q1", {"d3": 1}), ("q2", {"d2": 2})]


@pytest.mark.parametrize("gold", [{"gold_ids": ["d1", "d2"]}, {"gold_id": "d1"}, {"mine": "d1"}])
def test_queries_may_name_their_documents_themselves(folder: Path, gold: dict[str, Any]) -> None:
    _write(folder / "queries.jsonl", [{"question": "anything", **gold}, {"question": "without"}])
    read = read_collection(
        folder, corpus="corpus.jsonl", queries="queries.jsonl", gold="mine" if "mine" in gold else ""
    )
    assert [(one.id, one.text) for one in read.queries] == [("1", "anything")]
    assert "d1" in read.queries[0].relevant


def test_collection_tells_which_queries_ask_for_what_is_not_there(folder: Path) -> None:
    (folder / "qrels.tsv").write_text("q1\td9\t1\n")
    read = read_collection(folder, corpus="corpus.jsonl", queries="queries.jsonl", qrels="qrels.tsv")
    assert [one.reason for one in read.problems] == ["1 queries have no relevant document in the corpus"]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("qrels.tsv", "q1\td1\t1\nbroken\n", r"qrels\.tsv:2: expected query, document and grade"),
        ("qrels.tsv", "other\td1\t1\n", "no queries with relevant documents"),
        ("queries.jsonl", "{not json}\n", r"queries\.jsonl: line 1: not JSON"),
    ],
)
def test_collection_that_cannot_be_read_names_the_place(folder: Path, name: str, content: str, told: str) -> None:
    (folder / name).write_text(content)
    with pytest.raises(RefusedError, match=told):
        read_collection(folder, corpus="corpus.jsonl", queries="queries.jsonl", qrels="qrels.tsv")


# --- the command ---


def test_evaluate_measures_the_stage_itself_and_compares_with_a_former_run(folder: Path) -> None:
    # Given a run whose measures were kept
    arguments = ["evaluate", "retrieval", str(folder), "--qrels", "qrels.tsv", "--language", "en", "--json"]
    first = CliRunner().invoke(app, [*arguments, "--retrievers", "bm25", "--per-query", str(folder / "run.jsonl")])
    told = json.loads(first.output)
    assert told["metrics"]["hit@1"] == told["metrics"]["nDCG@10"] == 1.0
    assert told["figures"]["passages"] == 3
    assert sorted(read_run(folder / "run.jsonl")) == ["q1", "q2"]
    # When another run is compared with it
    again = CliRunner().invoke(app, [*arguments, "--compare", str(folder / "run.jsonl")])
    # Then the difference is told
    assert json.loads(again.output)["comparison"]["hit@1"]["difference"] == 0.0


def test_evaluate_says_which_file_is_missing(folder: Path) -> None:
    done = CliRunner().invoke(app, ["evaluate", "retrieval", str(folder), "--corpus", "none.jsonl"])
    assert done.exit_code == 1
    assert "none.jsonl: no such file" in done.output


def test_run_that_is_not_one_is_refused(folder: Path) -> None:
    with pytest.raises(RefusedError, match="not what --per-query writes"):
        read_run(folder / "corpus.jsonl")


# --- embeddings that are missing, slow or away ---


def test_dense_without_embeddings_is_refused_instead_of_measuring_something_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANSWERBUS_EMBED_URL", "ANSWERBUS_EMBED_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    told = CliRunner().invoke(
        app, ["evaluate", "retrieval", str(folder), "--qrels", "qrels.tsv", "--retrievers", "dense"]
    )
    assert told.exit_code == 1
    assert "dense is not configured" in told.stderr
    assert "nDCG" not in told.stdout


async def test_call_is_repeated_while_what_it_needs_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "WAITS", (0.0, 0.0, 0.0))
    failures = [UnavailableError("away"), TransientError("away")]

    async def call(value: int) -> int:
        if failures:
            raise failures.pop()
        return value

    assert await patience.patiently(call, 7) == 7


async def test_call_that_never_succeeds_ends_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "WAITS", (0.0,))

    async def call() -> int:
        raise UnavailableError("away for good")

    with pytest.raises(UnavailableError, match="away for good"):
        await patience.patiently(call)


def test_finished_queries_of_an_interrupted_run_are_used_by_the_next_one_about_the_same(tmp_path: Path) -> None:
    # Given a run that was killed while it wrote its second query
    path = tmp_path / "results.jsonl"
    first = patience.FinishedQueries(path, {"depth": 10})
    first.add({"query": "q1", "ranking": ["d1"]})
    part = tmp_path / "results.jsonl.part"
    part.write_text(part.read_text("utf-8") + '{"query": "q2", "rank', "utf-8")
    # When the same run begins again, it has the first query
    again = patience.FinishedQueries(path, {"depth": 10})
    assert again.rows == {"q1": {"query": "q1", "ranking": ["d1"]}}
    # And another run refuses them
    with pytest.raises(RefusedError, match="belongs to another run"):
        patience.FinishedQueries(path, {"depth": 20})
    # And a complete run leaves nothing
    again.done()
    assert not part.exists()
