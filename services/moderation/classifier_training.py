"""Training the classifier of injections from labelled texts (extra `classifier`): TF-IDF and logistic regression."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from services.moderation.canonical_text import tidy
from services.moderation.classifier import FORMAT, features
from shared.contracts.errors import ConfigurationError, RefusedError

#: A feature of one text only says nothing about others.
_IN_TEXTS = 2
#: How little the weights are held back (the inverse of the regularisation): features are many, texts few.
_FREEDOM = 30.0
_FEWEST = 20


def train(texts: Sequence[str], attacks: Sequence[bool], path: Path) -> dict[str, Any]:
    """Fit the weights, write them to the file, and say what they are made of.

    `cross_validated_f1` is that of five folds of the same texts; where these repeat one another it is flattering.

    Raises:
        ConfigurationError: scikit-learn is not installed.
        RefusedError: there are too few texts of either kind, or the file cannot be written.
    """
    try:
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import cross_val_score
    except ImportError:
        raise ConfigurationError("training needs the extra: pip install 'answerbus[classifier]'") from None
    if min(sum(attacks), len(attacks) - sum(attacks)) < _FEWEST:
        raise RefusedError(f"training needs at least {_FEWEST} attacks and as many honest texts")
    idf, rows = _vectors(texts)
    vectors = DictVectorizer()
    table = vectors.fit_transform(rows)
    model = LogisticRegression(C=_FREEDOM, class_weight="balanced", max_iter=2000)
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
    """The inverse document frequencies, and every text as a vector of length 1 (as `Classifier` reads a text)."""
    counted = [features(tidy(text)) for text in texts]
    seen: dict[str, int] = {}
    for one in counted:
        for name in one:
            seen[name] = seen.get(name, 0) + 1
    idf = {name: math.log((1 + len(texts)) / (1 + times)) + 1 for name, times in seen.items() if times >= _IN_TEXTS}
    rows = []
    for one in counted:
        row = {name: (1 + math.log(count)) * idf[name] for name, count in one.items() if name in idf}
        length = math.sqrt(sum(value * value for value in row.values())) or 1.0
        rows.append({name: value / length for name, value in row.items()})
    return idf, rows


def _write(path: Path, bias: float, weights: dict[str, Any], idf: dict[str, float]) -> None:
    told = {
        "format": FORMAT,
        "bias": round(bias, 5),
        "weights": {str(name): round(float(weight), 4) for name, weight in weights.items()},
        "idf": {name: round(value, 3) for name, value in idf.items()},
    }
    try:
        path.write_text(json.dumps(told, ensure_ascii=False, separators=(",", ":")), "utf-8")
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from None
