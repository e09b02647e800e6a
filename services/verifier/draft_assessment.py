"""What was found of a draft, by the rules or by the judge."""

from __future__ import annotations

from typing import NamedTuple

from shared.contracts.domain import JudgedBy, Scores


class Finding(NamedTuple):
    """`faults` are in words that name no text of the question; `missing` are positions of unsupported sentences.

    `feedback` is for the next draft, `rewritten` the question of the next search; the rules leave it empty.
    """

    faults: tuple[str, ...]
    missing: tuple[int, ...]
    scores: Scores
    judged_by: JudgedBy = "rules"
    remark: str = ""
    rewritten: str = ""

    def passes(self, threshold: float) -> bool:
        """Nothing is wrong with it, and it is good enough."""
        return not self.faults and self.scores.overall >= threshold

    def feedback(self, threshold: float) -> str:
        """What the next draft is to do better; never empty for a finding that does not pass."""
        said = list(self.faults)
        if self.remark:
            said.append(self.remark)
        elif not said:
            scores = self.scores
            said.append(
                f"scored {scores.overall:.2f} where {threshold:.2f} is needed: relevancy {scores.relevancy:.2f}, "
                f"groundedness {scores.groundedness:.2f}, completeness {scores.completeness:.2f}"
            )
        return "; ".join(said)
