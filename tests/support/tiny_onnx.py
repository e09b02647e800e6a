"""A model of embeddings small enough to be made by a test: one table of token vectors, as ONNX, with its tokenizer.

The bytes are ONNX's protocol buffers, written out field by field: the few that one `Gather` needs.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path

FLOAT, INT64 = 1, 7
#: Kinds of attributes.
_INT, _INTS = 2, 7


def write_model(folder: Path, vectors: dict[str, Sequence[float]]) -> None:
    """A folder as a local model is kept in; a text's vector is the mean of its words' (unknown words: zero)."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder.mkdir(parents=True, exist_ok=True)
    dimension = len(next(iter(vectors.values())))
    table = {"[PAD]": [0.0] * dimension, "[UNK]": [0.0] * dimension, **vectors}
    (folder / "model.onnx").write_bytes(_model(list(table.values()), dimension))
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(table)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, content in {
        "config.json": {"hidden_size": dimension, "pad_token_id": 0},
        "tokenizer_config.json": {"model_max_length": 64, "pad_token": "[PAD]"},
        "special_tokens_map.json": {"pad_token": "[PAD]", "unk_token": "[UNK]"},
    }.items():
        (folder / name).write_text(json.dumps(content))


def write_cross_encoder(folder: Path, words: dict[str, float]) -> None:
    """A folder of a cross-encoder: the score of question and text is the largest of their words' (unknown words: 0)."""
    write_model(folder, {word: [score] for word, score in words.items()})
    rows = [[0.0], [0.0], *([score] for score in words.values())]
    largest = _text(1, "last_hidden_state") + _text(2, "logits") + _text(4, "ReduceMax")
    largest += _attribute("axes", _number(8, 1) + _number(20, _INTS)) + _attribute(
        "keepdims", _number(3, 0) + _number(20, _INT)
    )
    (folder / "model.onnx").write_bytes(_model(rows, 1, largest, "logits"))


def _attribute(name: str, value: bytes) -> bytes:
    return _field(5, _text(1, name) + value)


def _model(
    rows: Sequence[Sequence[float]], dimension: int, then: bytes = b"", output: str = "last_hidden_state"
) -> bytes:
    """A `Gather` of rows by token, and a second node on its result, if any."""
    numbers = [number for row in rows for number in row]
    table = _number(1, len(rows)) + _number(1, dimension) + _number(2, FLOAT) + _text(8, "table")
    table += _field(9, struct.pack(f"<{len(numbers)}f", *numbers))
    gather = _text(1, "table") + _text(1, "input_ids") + _text(2, "last_hidden_state") + _text(4, "Gather")
    graph = _field(1, gather) + (_field(1, then) if then else b"") + _text(2, "tiny") + _field(5, table)
    graph += _field(11, _value("input_ids", INT64, ["batch", "tokens"]))
    graph += _field(12, _value(output, FLOAT, ["batch", dimension] if then else ["batch", "tokens", dimension]))
    return _number(1, 8) + _field(7, graph) + _field(8, _text(1, "") + _number(2, 13))


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = b"".join(_field(1, _text(2, one) if isinstance(one, str) else _number(1, one)) for one in shape)
    return _text(1, name) + _field(2, _field(1, _number(1, kind) + _field(2, sizes)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _field(field, value.encode())


def _field(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
