"""The case file, from the fields that the kinds declare."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from deqcheck.case.schema import CaseFile
from deqcheck.docs import Cases
from deqcheck.fields import REQUIRED, Free, Inline, Part, Section, Spec, specs
from deqcheck.kinds import Kind, Loss, Model
from deqcheck.registry import kinds

TOPIC = "case"
TITLE = "The case file, version 1"
INTRODUCTION = f"""\
# {TITLE}

A case is a YAML mapping. A kind may be given as a mapping, `{{kind: gaussian, scale: 0.3}}`, or as
a bare word, `zero`, where it needs nothing else. `1e-3` is a number. Paths are relative to the
case. Unknown keys, duplicate keys, wrong types and values out of range are all reported at once.
`deqcheck validate CASE` reads and checks a case without running it.

With `sweep`, one file states several cases. Each sweep has a name and lists of values by dotted
key; the lists are taken in step, and every other field is that of the file:

```yaml
sweep:
  one step size: {{model.width: [40, 80, 160]}}
  equal products: {{model.width: [40, 80, 160], train.step: [4e-3, 2e-3, 1e-3]}}
```

Each is a case of its own, with its own report, digest and place in a baseline; what a member
expects may vary too (`expect.ling2022/thm1: [...]`). After the reports, the table and the page show
each sweep side by side. `--set sweep=null` runs the file as if it had none.
"""


def titles() -> dict[str, str]:
    return {TOPIC: TITLE}


def render(topic: str, cases: Cases) -> str:
    parts = [INTRODUCTION, *_table(CaseFile)]
    for key, spec in specs(CaseFile).items():
        if isinstance(spec, Section):
            parts += [f"## {key}\n", _text(spec.record), *_table(spec.record)]
    for package, keys in _packages().items():
        parts.append(f"## Kinds for {', '.join(keys)}\n")
        for kind, cls in kinds(package).items():
            parts += [f"### {kind}\n", _text(cls), *_arrays(cls), *_table(cls)]
    return "\n".join(parts)


def _packages() -> dict[type[Kind], list[str]]:
    """The registries that a case can reach, with the keys under which it does."""
    found: dict[type[Kind], list[str]] = {}
    waiting: list[tuple[str, type]] = [("", CaseFile)]
    seen: set[type] = set()
    while waiting:
        owner, cls = waiting.pop(0)
        if cls in seen:
            continue
        seen.add(cls)
        for key, spec in specs(cls).items():
            inner = spec.inner if isinstance(spec, Free) else spec
            if isinstance(inner, Section):
                waiting.append((f"{key}.", inner.record))
            if isinstance(inner, Part):
                if f"{owner}{key}" not in found.setdefault(inner.family, []):
                    found[inner.family].append(f"{owner}{key}")
                waiting += [(f"{key}.", kind) for kind in kinds(inner.family).values()]
    return {family: [f"`{key}`" for key in keys] for family, keys in found.items()}


def _text(cls: type) -> str:
    return " ".join(inspect.cleandoc(cls.__doc__ or "").split()) + "\n"


def _arrays(cls: type) -> Iterator[str]:
    """Of a model: what `values` and `npz` call its arrays."""
    titles = {"data_arrays": "Data", "parameters": "Parameters", "biases": "Biases, if any"}
    for name, title in titles.items():
        shapes = getattr(cls, name, None)
        if isinstance(shapes, dict) and shapes:
            listed = ", ".join(f"{n} ({' x '.join(s) or 'a number'})" for n, s in shapes.items())
            yield f"{title}: {listed}.\n"
    if issubclass(cls, Model):
        losses = [name for name, loss in kinds(Loss).items() if issubclass(loss, cls.loss)]
        yield f"Losses: {', '.join(losses)}; default: {cls.default_loss}.\n"


def _table(cls: type) -> Iterator[str]:
    fields = specs(cls)
    if not fields:
        yield "No fields.\n"
        return
    yield "| key | expected | default | meaning |"
    yield "|---|---|---|---|"
    for key, spec in fields.items():
        name = "(any name)" if isinstance(spec, Inline) else f"`{key}`"
        yield f"| {name} | {_cell(spec.expected)} | {_default(spec)} | {_cell(spec.doc)} |"
    yield ""


def _default(spec: Spec) -> str:
    if spec.default is REQUIRED:
        return "required"
    return "" if spec.default in (None, {}, "") else f"`{spec.default}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
