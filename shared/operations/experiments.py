"""Where experiments are kept: one value of the bucket, small enough to be read every second."""

from __future__ import annotations

from collections.abc import Callable

from shared.contracts.errors import NotFoundError
from shared.contracts.experiments import Experiment, decode_experiments, encode_experiments
from shared.stores.ports import KeyValue

#: The key, and how many experiments are kept; the oldest that have ended are forgotten.
KEY, MOST_KEPT = "experiments", 50


class ExperimentStore:
    """Reads and changes experiments; every method raises `UnavailableError` when the store is unavailable."""

    def __init__(self, values: KeyValue) -> None:
        self._values = values

    async def all(self) -> tuple[Experiment, ...]:
        """The experiments, the newest first."""
        return decode_experiments(await self._values.get(KEY))

    async def get(self, name: str) -> Experiment:
        """One experiment.

        Raises:
            NotFoundError: there is none of this name.
        """
        return _named(await self.all(), name)

    async def add(self, experiment: Experiment, check: Callable[[tuple[Experiment, ...]], None]) -> None:
        """Store a new one; `check` is given those that exist, and raises what forbids it."""

        def added(value: bytes | None) -> bytes:
            known = decode_experiments(value)
            check(known)
            kept = [one for at, one in enumerate(known) if one.runs or one.to_announce or at < MOST_KEPT - 1]
            return encode_experiments((experiment, *kept))

        await self._values.update(KEY, added)

    async def change(self, name: str, change: Callable[[Experiment], Experiment]) -> Experiment:
        """Store `change(experiment)` in its place, which nobody changes in between; what `change` raises is raised.

        Raises:
            NotFoundError: there is none of this name.
        """
        changed: list[Experiment] = []

        def replace(value: bytes | None) -> bytes:
            known = decode_experiments(value)
            changed.append(change(_named(known, name)))
            return encode_experiments(tuple(changed[-1] if one.name == name else one for one in known))

        await self._values.update(KEY, replace)
        return changed[-1]


def _named(experiments: tuple[Experiment, ...], name: str) -> Experiment:
    found = next((one for one in experiments if one.name == name), None)
    if found is None:
        raise NotFoundError(f"there is no experiment {name}; see GET /api/v1/experiments")
    return found
