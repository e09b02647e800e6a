"""What a worker imports before it needs a model."""

from __future__ import annotations

import subprocess
import sys

from cli.host.catalogue import STAGES

#: A second of processor time and 60 MB; it is imported on a thread, when an endpoint is opened.
HEAVY = ("langchain_openai", "openai", "langchain_anthropic", "anthropic", "langsmith")


def test_stages_without_a_model_import_no_client_of_one() -> None:
    """Given models in no role, when every stage is imported and asks for models, then no client of one is imported."""
    program = "\n".join([
        *(f"import services.{stage}.app" for stage in STAGES),
        "import sys",
        "from shared.llm.fallback import FallbackModels",
        "from shared.llm.settings import read_models",
        "models = FallbackModels.from_settings(read_models('off'))",
        "assert not models.has('main')",
        f"print([name for name in {HEAVY!r} if name in sys.modules])",
    ])  # fmt: skip
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"
