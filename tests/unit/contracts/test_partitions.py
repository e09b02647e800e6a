"""Where a question is: the places of its id, as the number of partitions grows."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.envelope import correlation_id_for, secret_correlation_id
from shared.contracts.partitions import partition_of, places_of
from shared.contracts.subjects import MOST_PARTITIONS

ids = st.integers(0, 2**128 - 1).map(lambda number: f"{number:032x}")
counts = st.integers(1, MOST_PARTITIONS)


@given(cid=ids, count=counts)
def test_a_question_stays_or_moves_to_the_newest_partition_when_one_is_added(cid: str, count: int) -> None:
    assert partition_of(cid, count + 1) in (partition_of(cid, count), count + 1)


@given(cid=ids, count=counts)
def test_the_places_of_a_question_are_where_it_was_asked_with_each_number_of_partitions(cid: str, count: int) -> None:
    places = places_of(cid, count)

    assert set(places) == {partition_of(cid, earlier) for earlier in range(1, count + 1)}
    assert places[0] == partition_of(cid, count)
    assert places[-1] == 1
    assert list(places) == sorted(places, reverse=True)


@pytest.mark.parametrize("count", [2, 4, 7, 64])
def test_ids_of_every_kind_are_spread_evenly(count: int) -> None:
    number = 200 * count
    kinds = (
        # As `new_correlation_id` makes them within one millisecond: only the low bits differ.
        [f"0195a1b2c3d47e5f{2**63 + one * 0x9E3779B97F4A7C15 % 2**62:016x}" for one in range(number)],
        [correlation_id_for("question", str(one)) for one in range(number)],
        [secret_correlation_id(b"secret", "key", str(one)) for one in range(number)],
    )
    for kind in kinds:
        found = Counter(partition_of(cid, count) for cid in kind)
        # Chi square with `count - 1` degrees of freedom: far above what chance gives.
        chi_square = sum((found[one] - 200) ** 2 / 200 for one in range(1, count + 1))
        assert chi_square < count + 8 * (2 * count) ** 0.5


def test_a_question_of_four_partitions_has_about_two_places() -> None:
    places = [len(places_of(correlation_id_for(str(one)), 4)) for one in range(5000)]

    assert sum(places) / len(places) == pytest.approx(1 + 1 / 2 + 1 / 3 + 1 / 4, abs=0.05)


def test_the_hash_is_that_of_the_paper() -> None:
    """Known values of the published algorithm (keys, buckets), as other implementations give them."""
    known = {(0, 1): 0, (42, 57): 43, (0xDEAD10CC, 1): 0, (0xDEAD10CC, 666): 361, (256, 1024): 520}

    assert {(key, count): partition_of(f"{key:032x}", count) - 1 for key, count in known} == known
