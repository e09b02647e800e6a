"""What FastStream costs: the chain of stages as it is, and with nats-py alone where the platform uses FastStream.

    python -m tests.bench.without_faststream [--rounds 2] [--parallel 2000]

`subscribe` replaces FastStream's subscriber on the inbox by `Client.subscribe`; `publish` also replaces
`NatsBroker.publish` by `JetStreamContext.publish`. Both are done by patching, here and nowhere else.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from statistics import median
from typing import Any

from faststream.nats import NatsBroker
from nats.aio.msg import Msg

from shared.bus.consumer import StageConsumer
from shared.bus.pull import keep_raw
from shared.runtime.worker import run

from . import stage_chain
from .chain import Chain, Figures, Load, measure, module_command

VARIANTS = ("as it is", "subscribe", "publish")


def patch(variant: str) -> None:
    """Bypass FastStream in this process."""
    if variant == "as it is":
        return
    subscriber, start = NatsBroker.subscriber, StageConsumer.start
    receivers: list[tuple[str, Callable[[Any], Awaitable[None]]]] = []

    def bare_subscriber(self: NatsBroker, subject: str, **options: Any) -> Any:
        if options.get("parser") is not keep_raw:
            return subscriber(self, subject, **options)  # type: ignore[arg-type]
        return lambda receive: receivers.append((subject, receive))

    async def bare_start(self: StageConsumer) -> None:
        begin = self.connection.broker.start

        async def subscribe_all() -> None:
            await begin()
            for subject, receive in receivers:
                await self.connection.client.subscribe(subject, cb=_callback(receive), pending_msgs_limit=1_000_000)

        self.connection.broker.start = subscribe_all  # type: ignore[method-assign]
        await start(self)

    async def bare_publish(
        self: NatsBroker, data: bytes, subject: str, *, headers: dict[str, str], stream: str, timeout: float, **_: Any
    ) -> Any:
        jetstream = self.connection.jetstream()
        return await jetstream.publish(subject, data, timeout=timeout, stream=stream, headers=headers)

    NatsBroker.subscriber = bare_subscriber  # type: ignore[method-assign, assignment]
    StageConsumer.start = bare_start  # type: ignore[method-assign]
    if variant == "publish":
        NatsBroker.publish = bare_publish  # type: ignore[method-assign, assignment]


def _callback(receive: Callable[[Any], Awaitable[None]]) -> Callable[[Msg], Awaitable[None]]:
    async def callback(message: Msg) -> None:
        await receive(await keep_raw(message))

    return callback


def chain(variant: str) -> Chain:
    """The stage chain whose workers run with that variant."""
    return replace(
        stage_chain.CHAIN,
        name=variant,
        hop=lambda hop, url: [*module_command("tests.bench.without_faststream", hop, url), "--variant", variant],
    )


async def compare(rounds: int, load: Load) -> None:
    results: dict[str, list[Figures]] = {variant: [] for variant in VARIANTS}
    for _ in range(rounds):
        for variant, figures in results.items():
            figures.append(await measure(chain(variant), load, fsync=False))
            print(variant, figures[-1], flush=True)
    base = results["as it is"]
    for variant, figures in results.items():
        ratios = (
            f"{name} x{median(getattr(one, name) for one in figures) / median(getattr(one, name) for one in base):.2f}"
            for name in ("p50_ms", "p95_ms", "per_second", "cpu_ms")
        )
        print(f"{variant:>10}: {', '.join(ratios)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--hop", type=int, default=-1)
    parser.add_argument("--url", default="")
    parser.add_argument("--variant", choices=VARIANTS, default="as it is")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--parallel", type=int, default=2000)
    options = parser.parse_args()
    if options.hop >= 0:
        patch(options.variant)
        run(stage_chain.build_hop(options.hop))
    else:
        asyncio.run(compare(options.rounds, Load(warm_up=200, serial=150, parallel=options.parallel)))
