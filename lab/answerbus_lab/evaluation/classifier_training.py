"""Trains the injection classifier on labelled texts (extra `classifier`): TF-IDF and logistic regression."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from services.moderation.canonical_text import canonicalize
from services.moderation.classifier import FORMAT, features
from shared.contracts.errors import ConfigurationError, RefusedError

#: Features that occur in fewer texts are dropped.
_LEAST_TEXTS = 2
#: The inverse of the strength of the regularisation.
_INVERSE_REGULARISATION = 30.0
_LEAST_PER_CLASS = 20


def train(texts: Sequence[str], attacks: Sequence[bool], path: Path) -> dict[str, Any]:
    """Trains a classifier, writes it to `path`, and returns the figures of the training.

    `cross_validated_f1` comes from five folds of the same texts; it is too high where the texts repeat one another.

    Raises:
        ConfigurationError: scikit-learn is not installed.
        RefusedError: there are too few attacks or too few honest texts, or the file cannot be written.
    """
    try:
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import cross_val_score
    except ImportError:
        raise ConfigurationError("training needs scikit-learn: pip install 'answerbus-lab[classifier]'") from None
    if min(sum(attacks), len(attacks) - sum(attacks)) < _LEAST_PER_CLASS:
        raise RefusedError(f"training needs at least {_LEAST_PER_CLASS} attacks and as many honest texts")
    idf, rows = _vectors(texts)
    vectors = DictVectorizer()
    table = vectors.fit_transform(rows)
    model = LogisticRegression(C=_INVERSE_REGULARISATION, class_weight="balanced", max_iter=2000)
    scores = cross_val_score(model, table, attacks, cv=5, scoring="f1")
    model.fit(table, attacks)
    weights = dict(zip(vectors.get_feature_names_out(), model.coef_[0], strict=True))
    _write(path, float(model.intercept_[0]), weights, idf)
    return {
        "texts": len(texts),
        "attacks": sum(attacks),
        "features": len(weights),
        "cross_validated_f1": round(float(scores.mean()), 4),
    }


def _vectors(texts: Sequence[str]) -> tuple[dict[str, float], list[dict[str, float]]]:
    """The inverse document frequencies, and every text as a vector of length 1 as `InjectionClassifier` computes it."""
    counted = [features(canonicalize(text)) for text in texts]
    texts_with: dict[str, int] = {}
    for counts in counted:
        for name in counts:
            texts_with[name] = texts_with.get(name, 0) + 1
    idf = {
        name: math.log((1 + len(texts)) / (1 + times)) + 1
        for name, times in texts_with.items()
        if times >= _LEAST_TEXTS
    }
    rows = []
    for counts in counted:
        row = {name: (1 + math.log(count)) * idf[name] for name, count in counts.items() if name in idf}
        length = math.sqrt(sum(value * value for value in row.values())) or 1.0
        rows.append({name: value / length for name, value in row.items()})
    return idf, rows


def _write(path: Path, bias: float, weights: dict[str, Any], idf: dict[str, float]) -> None:
    document = {
        "format": FORMAT,
        "bias": round(bias, 5),
        "weights": {str(name): round(float(weight), 4) for name, weight in weights.items()},
        "idf": {name: round(value, 3) for name, value in idf.items()},
    }
    try:
        path.write_text(json.dumps(document, ensure_ascii=False, separators=(",", ":")), "utf-8")
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from None
