"""The search: Optuna proposes settings, the platform answers the cases with them, the best is checked on held-out ones.

The sampler is the tree-structured Parzen estimator (Bergstra and others, Algorithms for Hyper-Parameter Optimization,
2011) as Optuna has it. The first trial is the pipeline as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from answerbus_lab.evaluation.batch_run import BudgetError
from answerbus_lab.tuning.scored_cases import CaseParts
from answerbus_lab.tuning.search_space import TunableSetting
from answerbus_lab.tuning.trials import CaseAsker, Trial, TrialStore
from shared.contracts.errors import ConfigurationError, RefusedError

if TYPE_CHECKING:
    import optuna

#: Trials that are drawn at random before the sampler learns from them.
STARTUP = 8
#: A range over this many times its beginning is searched by its logarithm.
_WIDE = 100


@dataclass(frozen=True)
class SearchLimits:
    """`trials` after the first one, `seconds`; what the search may cost is a limit of its `CaseAsker`."""

    trials: int
    seconds: float


@dataclass
class Tuner:
    """Searches `space` by the cases of one part; `current` are the values that the pipeline has now."""

    asker: CaseAsker
    store: TrialStore
    parts: CaseParts
    space: Sequence[TunableSetting]
    current: Mapping[str, Any]
    seed: int
    ended: str = "interrupted"
    #: The held-out part with the settings of now and with the best ones; None: it was not asked.
    held_out: tuple[Trial, Trial] | None = None

    @property
    def base(self) -> Trial | None:
        """The trial of the pipeline as it is."""
        return self.store.known({})

    @property
    def best(self) -> Trial | None:
        """The trial with the highest score, of equal ones the fastest; None where none is better than the base."""
        base = self.base
        if base is None:
            return None
        better = [trial for trial in self.store.trials if not trial.invalid and trial.mean > base.mean]
        return max(better, key=lambda trial: (trial.mean, -trial.mean_ms), default=None)

    async def search(self, limits: SearchLimits, advance: Callable[[], None]) -> None:
        """Try settings until a limit ends it, then ask the held-out part of the best ones; `advance` after each trial.

        Raises:
            ConfigurationError: Optuna is not installed.
            RefusedError: the gateway may not replay.
            UnavailableError: the gateway stayed away; what was found is kept.
        """
        study = self._study()
        until = time.monotonic() + limits.seconds
        self.ended = f"{limits.trials} trials"
        try:
            if self.base is None:
                self.store.keep(Trial({}, await self.asker.ask(self.parts.tuned, {})))
                advance()
            while len(self.store.trials) <= limits.trials:
                if time.monotonic() >= until:
                    self.ended = f"the time is over: {limits.seconds:g} s"
                    break
                if self._exhausted():
                    self.ended = "every combination was tried"
                    break
                await self._try_next(study)
                advance()
            await self._hold_out()
        except BudgetError as error:
            self.ended = str(error)

    async def _try_next(self, study: optuna.Study) -> None:
        asked = study.ask(self._distributions())
        settings = {name: asked.params[name] for name in (setting.name for setting in self.space)}
        known = self.store.known(settings)
        if known is None:
            try:
                known = Trial(settings, await self.asker.ask(self.parts.tuned, settings))
            except BudgetError:
                raise
            except RefusedError as error:
                if not self._is_invalid(error):
                    raise
                known = Trial(settings, {}, invalid=str(error))
            self.store.keep(known)
        if known.invalid:
            from optuna.trial import TrialState

            study.tell(asked, state=TrialState.FAIL)
        else:
            study.tell(asked, known.mean)

    def _is_invalid(self, error: RefusedError) -> bool:
        """Whether the error is about the settings, and not about what the gateway or the caller may do."""
        return "(HTTP 422)" in str(error)

    def _exhausted(self) -> bool:
        """Whether every combination of a finite space was tried."""
        sizes = [_size(setting) for setting in self.space]
        if None in sizes:
            return False
        total = 1
        for size in sizes:
            total *= size or 1
        return len([trial for trial in self.store.trials if trial.settings]) >= total

    async def _hold_out(self) -> None:
        if (best := self.best) is None:
            return
        cases = self.parts.held_out
        before = Trial({}, await self.asker.ask(cases, {}))
        after = Trial(best.settings, await self.asker.ask(cases, best.settings))
        self.held_out = before, after

    def _study(self) -> optuna.Study:
        try:
            import optuna
        except ImportError:
            raise ConfigurationError("tune needs optuna: pip install 'answerbus-lab[tune]'") from None
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=self.seed, n_startup_trials=STARTUP)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        distributions = self._distributions()
        for trial in self.store.trials:
            values = trial.settings or {name: self.current.get(name) for name in distributions}
            if trial.invalid or not all(_fits(setting, values[setting.name]) for setting in self.space):
                continue
            study.add_trial(
                optuna.trial.create_trial(params=dict(values), distributions=dict(distributions), value=trial.mean)
            )
        return study

    def _distributions(self) -> dict[str, Any]:
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        found: dict[str, Any] = {}
        for setting in self.space:
            wide = setting.low > 0 and setting.high / setting.low >= _WIDE
            if setting.kind == "choice":
                found[setting.name] = CategoricalDistribution(setting.choices)
            elif setting.kind == "integer":
                found[setting.name] = IntDistribution(int(setting.low), int(setting.high), log=wide)
            else:
                found[setting.name] = FloatDistribution(setting.low, setting.high, log=wide)
        return found


def _size(setting: TunableSetting) -> int | None:
    """How many values it can have; None: any number."""
    if setting.kind == "choice":
        return len(setting.choices)
    return int(setting.high) - int(setting.low) + 1 if setting.kind == "integer" else None


def _fits(setting: TunableSetting, value: Any) -> bool:
    if setting.kind == "choice":
        return value in setting.choices
    return isinstance(value, int | float) and setting.low <= value <= setting.high
