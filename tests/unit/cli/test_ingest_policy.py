"""What `answerbus ingest` fetches and prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.operations.ingestion import IngestReport, show_report
from shared.contracts.errors import RefusedError
from shared.operations.crawl_policy import crawl_policy
from shared.runtime.settings import Settings
from shared.web.crawler.collected import SourceProblem


def test_pages_are_fetched_only_from_where_the_operator_allows(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, web_allow=("example.org", "*.example.org"), web_deny=("old.example.org",))
    policy = crawl_policy(settings, ("wiki.example.org",))

    assert policy.target("https://www.example.org/a")
    for refused in ("https://example.com/", "https://old.example.org/"):
        with pytest.raises(RefusedError):
            policy.target(refused)
    assert policy.inside == ("wiki.example.org",)


def test_control_characters_of_file_names_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    report = IngestReport(problems=[SourceProblem("a\x1b]0;owned\x07\u202e\u2028.pdf", "no\x1b[2J such file")])
    report.skipped["no reader for .\x1b[31m"] += 1

    show_report(report, as_json=False)

    printed = capsys.readouterr()
    assert "owned" in printed.err
    assert not set("\x1b\x07\u202e\u2028") & set(printed.err + printed.out)
