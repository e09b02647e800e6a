"""What is told of an index that is not as it should be."""

from __future__ import annotations

import pytest

from shared.contracts.requests.retrieval import EMBEDDED_PASSAGES, IndexStatsReply


@pytest.mark.parametrize(
    ("store", "passages", "told"),
    [("embedded", EMBEDDED_PASSAGES, False), ("embedded", EMBEDDED_PASSAGES + 1, True), ("server", 10**7, False)],
)
def test_too_many_passages_for_the_embedded_index_are_told_with_what_to_do(
    store: str, passages: int, told: bool
) -> None:
    stats = IndexStatsReply(documents=1, passages=passages, languages={"eng": passages}, store=store)

    assert ("ANSWERBUS_VECTOR_URL" in stats.warning) is told
