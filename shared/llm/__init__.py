"""Models by role: `fast`, `main` and `judge`, each a cascade of endpoints; see `shared.llm.ports`."""
