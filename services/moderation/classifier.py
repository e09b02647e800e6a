"""A classifier of prompt injections: logistic regression over TF-IDF features, its weights in a JSON file.

`answerbus train injections` writes the file. It contains only numbers, so that loading it executes no code. The
features of a normalized text are runs of 3 to 5 characters, words, and pairs of words, with the weight (1 + log n) ·
idf; the vector is scaled to length 1, as in scikit-learn's `TfidfVectorizer(sublinear_tf=True)`.
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

from shared.contracts.errors import ConfigurationError
from shared.text.normalizer import normalize

log = structlog.get_logger()

FORMAT = "answerbus-injections-1"
#: Characters of a text that are classified; a bound on the work.
LONGEST = 2000


class ClassifierFile(BaseModel):
    """The content of the file: the weight and the inverse document frequency of each feature."""

    format: str = Field(pattern=f"^{FORMAT}$")
    bias: float
    weights: dict[str, float]
    idf: dict[str, float]


class InjectionClassifier:
    """Estimates how likely a text is an injection."""

    def __init__(self, file: ClassifierFile) -> None:
        self._bias = file.bias
        self._weights = file.weights
        self._idf = file.idf

    def probability(self, text: str) -> float:
        """The probability, 0 to 1, that the text is an injection."""
        counted = {
            name: (1 + math.log(count)) * idf
            for name, count in features(text).items()
            if (idf := self._idf.get(name)) is not None
        }
        length = math.sqrt(sum(value * value for value in counted.values())) or 1.0
        score = self._bias + sum(value * self._weights[name] for name, value in counted.items()) / length
        return 1 / (1 + math.exp(-max(-40.0, min(40.0, score))))


def features(text: str) -> Counter[str]:
    """Counts of character runs (`c:` and 3 to 5 characters), words (`w:`) and pairs of words in the normalized text."""
    normalized = normalize(text[:LONGEST])
    counts = Counter(
        f"c:{normalized[at : at + size]}" for size in (3, 4, 5) for at in range(len(normalized) - size + 1)
    )
    words = normalized.split()
    counts.update(f"w:{word}" for word in words)
    counts.update(f"w:{first} {second}" for first, second in pairwise(words))
    return counts


def read_classifier(path: Path) -> InjectionClassifier:
    """Loads a classifier.

    Raises:
        ConfigurationError: the file cannot be read, or is not a classifier.
    """
    try:
        file = ClassifierFile.model_validate(json.loads(path.read_text("utf-8")))
    except OSError as error:
        raise ConfigurationError(f"moderation.injection_model: {path}: {error.strerror}") from None
    except (ValueError, ValidationError):
        raise ConfigurationError(
            f"moderation.injection_model: {path} was not written by `answerbus train injections`"
        ) from None
    if set(file.weights) != set(file.idf):
        raise ConfigurationError(
            f"moderation.injection_model: {path} is incomplete; train it again with `answerbus train injections`"
        )
    return InjectionClassifier(file)


@lru_cache(maxsize=8)
def classifier_of(path: str) -> InjectionClassifier | None:
    """The classifier in that file, loaded once; None, with a warning, when it cannot be loaded."""
    try:
        return read_classifier(Path(path))
    except ConfigurationError as error:
        log.warning("injection classifier could not be loaded; only rules are used", error=str(error))
        return None
