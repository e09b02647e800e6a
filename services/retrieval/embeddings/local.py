"""Embeddings from a model in this process, by fastembed (extra `embed`): a model name of fastembed, or a folder.

A folder needs `model.onnx` (or `onnx/model.onnx`), `config.json` and the tokenizer's files; the vectors are mean-pooled
and normalised.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shared.contracts.errors import ConfigurationError
from shared.runtime.model_folder import model_file

_BATCH = 32
_SETTING = "ANSWERBUS_EMBED_MODEL"


class LocalEmbedder:
    """Implements `Embedder` on the CPU; the model is loaded when the worker starts."""

    def __init__(self, model: str) -> None:
        self._folder = Path(model) if Path(model).is_dir() else None
        #: For a folder, from `open` on: the folder's name and a digest of the model in it.
        self.name = model
        self._model: Any = None

    async def open(self) -> None:
        """Load the model and set its name.

        Raises:
            ConfigurationError: the extra is missing, or the model does not exist.
        """
        self._model = await asyncio.to_thread(self._load)

    async def close(self) -> None:
        self._model = None

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._embed, list(texts))

    def _embed(self, texts: list[str]) -> list[list[float]]:
        return [vector.tolist() for vector in self._model.embed(texts, batch_size=_BATCH)]

    def _load(self) -> Any:
        try:
            import fastembed
        except ImportError:
            raise ConfigurationError(
                "ANSWERBUS_EMBED_MODEL without ANSWERBUS_EMBED_URL needs fastembed: pip install 'answerbus[embed]'"
            ) from None
        try:
            if self._folder is None:
                return fastembed.TextEmbedding(self.name)
            self.name = _versioned_name(self._folder)
            return fastembed.TextEmbedding(self._register(self._folder), specific_model_path=str(self._folder))
        except ConfigurationError:
            raise
        except Exception as error:  # the library has no narrower type
            raise ConfigurationError(f"cannot load ANSWERBUS_EMBED_MODEL: {error}") from error

    def _register(self, folder: Path) -> str:
        """Register the folder with fastembed, once per process; return its name there."""
        from fastembed import TextEmbedding
        from fastembed.common.model_description import ModelSource, PoolingType

        name = f"local/{self.name}"
        if name in (str(known["model"]) for known in TextEmbedding.list_supported_models()):
            return name
        TextEmbedding.add_custom_model(
            model=name,
            pooling=PoolingType.MEAN,
            normalization=True,
            # Never downloaded, because the folder is given.
            sources=ModelSource(url="https://localhost/none"),
            dim=_dimension(folder),
            model_file=model_file(folder, _SETTING),
        )
        return name


def _dimension(folder: Path) -> int:
    try:
        return int(json.loads((folder / "config.json").read_text("utf-8"))["hidden_size"])
    except (OSError, ValueError, KeyError, TypeError):
        raise ConfigurationError(
            f"ANSWERBUS_EMBED_MODEL: {folder.name} has no config.json with a hidden_size"
        ) from None


def _versioned_name(folder: Path) -> str:
    """The folder's name and a digest of its model, so that another model in the same folder has another name."""
    digest = hashlib.sha256()
    with (folder / model_file(folder, _SETTING)).open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return f"{folder.resolve().name}@{digest.hexdigest()[:12]}"
