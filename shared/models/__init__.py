"""Models by role: `fast`, `main` and `judge`, each a cascade of endpoints; see `shared.models.ports`."""
