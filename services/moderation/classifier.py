"""A light classifier of injections: logistic regression over pieces of words, its weights in a JSON file.

The file is made by `answerbus train injections` and holds numbers only, so that loading one runs nothing. A text is
folded; every run of 2 to 5 characters, and every word and pair of words, counts with log(1 + n), and the vector is
brought to length 1, as scikit-learn's `TfidfVectorizer(sublinear_tf=True)` has it, without its inverse document
frequencies, which the weights carry.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import structlog
from pydantic import BaseModel, Field, ValidationError

from services.moderation.normalizer import fold
from shared.contracts.errors import ConfigurationError

log = structlog.get_logger()

FORMAT = "answerbus-injections-1"
#: Texts are read this far: enough to judge by, and it bounds the work.
LONGEST = 2000


class Weights(BaseModel):
    """The file: `weights` by feature, already multiplied by what the training scaled them with."""

    format: str = Field(pattern=f"^{FORMAT}$")
    bias: float
    weights: dict[str, float]
    idf: dict[str, float]


class Classifier:
    """How likely a text is an injection."""

    def __init__(self, file: Weights) -> None:
        self._bias = file.bias
        self._weights = file.weights
        self._idf = file.idf

    def probability(self, text: str) -> float:
        counted = {
            name: (1 + math.log(count)) * idf
            for name, count in features(text).items()
            if (idf := self._idf.get(name)) is not None
        }
        length = math.sqrt(sum(value * value for value in counted.values())) or 1.0
        score = self._bias + sum(value * self._weights[name] for name, value in counted.items()) / length
        return 1 / (1 + math.exp(-max(-40.0, min(40.0, score))))


def features(text: str) -> Counter[str]:
    """Pieces of words (`c:` and 3 to 5 characters), words (`w:`) and pairs of them, with how often they occur."""
    folded = fold(text[:LONGEST])
    pieces = Counter(f"c:{folded[at : at + size]}" for size in (3, 4, 5) for at in range(len(folded) - size + 1))
    words = folded.split()
    pieces.update(f"w:{word}" for word in words)
    pieces.update(f"w:{first} {second}" for first, second in pairwise(words))
    return pieces


def read_classifier(path: Path) -> Classifier:
    """The classifier in a file.

    Raises:
        ConfigurationError: there is no such file, or it is not one.
    """
    try:
        file = Weights.model_validate(json.loads(path.read_text("utf-8")))
    except OSError as error:
        raise ConfigurationError(f"moderation.injection_model: {path}: {error.strerror}") from None
    except (ValueError, ValidationError):
        raise ConfigurationError(
            f"moderation.injection_model: {path} is not what `answerbus train injections` writes"
        ) from None
    if set(file.weights) != set(file.idf):
        raise ConfigurationError(f"moderation.injection_model: {path} lacks weights; train it again")
    return Classifier(file)


@lru_cache(maxsize=8)
def classifier_of(path: str) -> Classifier | None:
    """The classifier of that file, read once; None, with a warning, when it cannot be read: the rules go on alone."""
    try:
        return read_classifier(Path(path))
    except ConfigurationError as error:
        log.warning("the injection classifier is missing; moderation goes by rules", error=str(error))
        return None
