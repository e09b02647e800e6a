"""Folders with a model that runs in this process, by fastembed."""

from __future__ import annotations

from pathlib import Path

from shared.contracts.errors import ConfigurationError

_PLACES = ("model.onnx", "onnx/model.onnx")


def model_file(folder: Path, setting: str) -> str:
    """The path of the model within the folder; `setting` is the one that names it.

    Raises:
        ConfigurationError: the folder has no model.
    """
    for place in _PLACES:
        if (folder / place).is_file():
            return place
    raise ConfigurationError(f"{setting}: {folder.name} contains neither {' nor '.join(_PLACES)}")
