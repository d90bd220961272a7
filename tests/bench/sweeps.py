"""What a sweep costs over its members: python -m tests.bench.sweeps [MEMBERS [DESCENTS]].

Members are spread over the 20 x 20 x 5 map of kawaguchi2021/cor1 (flows, m up to 20). `judge` in a
loop is the yardstick: one process may take at most 15 % more, two must reach 1.7 times its
throughput.

Then descents of ReLU DEQs (m = 20, n = 10, 500 steps), which are advanced together: with their
perturbed runs, error bars, recorded quantities and verdicts on Theorem 1 of Ling et al. 2022,
beside the same one by one, and beside loops in NumPy (one by one) and JAX (jitted, vmapped) that
have none of these. Aims: 5 times as fast as one by one, 60 ms each.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from deqcheck import judging, threads

MEMBERS, OVERHEAD, GAIN = 60, 1.15, 1.7
DESCENTS, ALONE, FASTER, EACH = 1000, 4, 5.0, 0.060
DESCENT = """\
deqcheck: 1
title: Descents of a ReLU DEQ
data: {kind: gaussian, n: 10, dim: 8, target: gaussian}
model: {kind: relu-deq, width: 20}
init: {kind: each, W: {kind: gaussian, scale: 0.2, fan: in}, U: gaussian, a: gaussian}
train: {kind: gd, step: 1e-4, steps: 500}
theorems: [ling2022/thm1]
"""
# Of the loops without error bars, from the state of the step before: 0.5^25 of 1e-4 is nothing.
SWEEPS = 25
GRID = {
    "grid": {
        "model.gamma": {"from": 0.05, "to": 0.95, "points": 20},
        "data.dim": {"from": 1, "to": 20, "points": 20},
    },
    "seeds": 5,
}
SETTINGS = ("theorems=[kawaguchi2021/cor1]", "expect={}")


def main(members: int) -> None:
    from deqcheck.case.source import Changes
    from deqcheck.case.streamed import read_stream
    from deqcheck.engines.processes import Processes
    from deqcheck.explore.single import Results, warm_up
    from deqcheck.explore.sweep import Sweeping
    from deqcheck.store import Store

    stream = read_stream("quickstart", Changes(SETTINGS), GRID)
    parts = len(stream) // members
    warm_up()

    def loop() -> None:
        for position in range(0, len(stream), parts):
            case = stream.case(stream.member(position))
            judging.run(case.problem(), case.question)

    def swept(jobs: int) -> Callable[[], None]:
        def run() -> None:
            with tempfile.TemporaryDirectory() as folder:
                Sweeping(stream, Results(Store(folder)), shard=(1, parts)).run(Processes(jobs))

        return run

    base, cpu = _seconds(loop)
    count = len(range(0, len(stream), parts))
    print(f"judge in a loop: {base:.1f} s, {cpu / count:.3f} s CPU a member, {count} members")
    for jobs in (1, 2):
        took, used = _seconds(swept(jobs))
        aim = f"at most {OVERHEAD if jobs == 1 else 1 / GAIN:.2f}"
        shares = f"{took / base:.2f} of the loop, aim {aim}; CPU {used / cpu:.2f} of it"
        print(f"sweep, {jobs} process(es): {took:.1f} s, {shares}")


def descents(count: int) -> None:
    from deqcheck.case.source import Changes
    from deqcheck.case.streamed import read_stream
    from deqcheck.dynamics.together import MOST, run_together
    from deqcheck.explore import single

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "descents.yaml"
        path.write_text(DESCENT)
        stream = read_stream(str(path), Changes(), {"seeds": count})
        cases = [stream.case(stream.member(i)) for i in range(count)]
    messages = [single.message(case) for case in cases]
    problems = [case.problem() for case in cases]
    tracks = judging.choose(cases[0].question, problems[0])[0].tracks

    def answered() -> None:
        for first in range(0, count, MOST):
            single.answer(single.together(messages[first : first + MOST]))

    def one_by_one() -> None:
        for message in messages[:ALONE]:
            single.answer(message)

    single.answer(messages[0])
    jointly, alone = _seconds(answered), _seconds(one_by_one)
    descent = _seconds(lambda: run_together(problems, [tracks] * count))
    print(f"{count} descents, seconds each by the clock and CPU:")
    _tell("together", jointly, count, f"aim at most {EACH}")
    _tell("  of which the descents", descent, count)
    gain = (alone[1] / ALONE) / (jointly[1] / count)
    _tell("one by one", alone, ALONE, f"{gain:.1f} times that in CPU time, aim at least {FASTER}")
    _bare("NumPy loop", numpy_descents, problems[:ALONE])
    from tests.bench.peers import peer

    if peer("jax") is None:
        print("  jax not installed")
        return
    jax_descents(problems)
    _bare("JAX loop, jitted and vmapped (compiled before)", jax_descents, problems)


def _bare(name: str, loop: Callable[[Sequence[Any]], Any], problems: Sequence[Any]) -> None:
    """No perturbed run, no error bars, nothing recorded; as accurate, or it says so."""
    import numpy as np

    ends: list[Any] = []
    took = _seconds(lambda: ends.append(loop(problems)))
    run = problems[0].train.run(problems[0])
    off = max(float(np.abs(ends[0][name][0] - a).max()) for name, a in run.final.items())
    _tell(name, took, len(problems), f"largest difference of parameters {off:.0e}")


def _tell(what: str, took: tuple[float, float], count: int, aim: str = "") -> None:
    wall, cpu = (each / count for each in took)
    print(f"  {what}: {wall:.4f}, {cpu:.4f}{aim and f' ({aim})'}", flush=True)


def numpy_descents(problems: Sequence[Any]) -> dict[str, list[Any]]:
    import numpy as np

    ends: dict[str, list[Any]] = {name: [] for name in ("W", "U", "a")}
    for p in problems:
        X, y, (W, U, a) = p.model.X, p.model.y, p.theta0.values()
        Z, V = np.zeros((2, len(a), len(y)))
        for _ in range(p.train.steps):
            Z, V, gradient = _gradient(np, X, y, W, U, a, Z, V)
            W, U, a = (x - p.train.step * g for x, g in zip((W, U, a), gradient, strict=True))
        for name, array in zip(ends, (W, U, a), strict=True):
            ends[name].append(array)
    return ends


def _gradient(np: Any, X: Any, y: Any, W: Any, U: Any, a: Any, Z: Any, V: Any) -> tuple[Any, ...]:
    """By fixed-point iterations from Z and its adjoint V."""
    C = U @ X
    for _ in range(SWEEPS):
        Z = np.maximum(W @ Z + C, 0.0)
    on, r = W @ Z + C > 0, Z.T @ a - y
    inner = a[:, None] * r
    for _ in range(SWEEPS):
        V = on * (W.T @ V + inner)
    return Z, V, (V @ Z.T, V @ X.T, Z @ r)


def jax_descents(problems: Sequence[Any]) -> dict[str, Any]:
    from tests.bench.peers import peer

    jax: Any = peer("jax")
    import numpy as np

    if not _COMPILED:
        step, steps, jnp = problems[0].train.step, problems[0].train.steps, jax.numpy

        def descent(X: Any, y: Any, W: Any, U: Any, a: Any) -> Any:
            def advance(_: Any, now: Any) -> Any:
                Z, V, gradient = _gradient(jnp, X, y, *now)
                return *(x - step * g for x, g in zip(now[:3], gradient, strict=True)), Z, V

            zero = jnp.zeros((a.size, y.size))
            return jax.lax.fori_loop(0, steps, advance, (W, U, a, zero, zero))[:3]

        _COMPILED.append(jax.jit(jax.vmap(descent)))
    data = [np.stack([getattr(p.model, name) for p in problems]) for name in ("X", "y")]
    theta = [np.stack([p.theta0[name] for p in problems]) for name in ("W", "U", "a")]
    found = jax.block_until_ready(_COMPILED[0](*data, *theta))
    return {name: np.asarray(a) for name, a in zip(("W", "U", "a"), found, strict=True)}


_COMPILED: list[Any] = []


def _seconds(task: Callable[[], None]) -> tuple[float, float]:
    """By the clock, and CPU with that of the workers, their start included."""
    started, before = time.perf_counter(), _cpu()
    task()
    return time.perf_counter() - started, _cpu() - before


def _cpu() -> float:
    every = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in every)


if __name__ == "__main__":
    threads.one_unless_told()
    os.environ.setdefault(
        "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    )
    asked = [int(word) for word in sys.argv[1:]]
    main(*(asked[:1] or [MEMBERS]))
    descents(*(asked[1:2] or [DESCENTS]))
