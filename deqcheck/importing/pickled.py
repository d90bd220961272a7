"""The data of a pickle without running it: a small machine for its opcodes that calls nothing.

Numbers, text, lists, tuples and mappings become what they are; a global or a call becomes a record
of its name and arguments, and whoever reads them decides which to admit.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from typing import Any, NamedTuple

from deqcheck.importing.tensor import Unusable


class Global(NamedTuple):
    name: str


class Call(NamedTuple):
    """What a pickle would have called, and with what."""

    name: str
    arguments: tuple[Any, ...]


class Persistent(NamedTuple):
    """A reference to something outside the pickle."""

    id: Any


# Opcodes that push their own argument, or a constant.
_LITERALS = [
    "BININT",
    "BININT1",
    "BININT2",
    "LONG1",
    "LONG4",
    "BINFLOAT",
    "BINUNICODE",
    "SHORT_BINUNICODE",
    "BINUNICODE8",
]
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_MARK = object()


def unpickled(content: bytes, admitted: Callable[[str], bool]) -> Any:
    """The object of a pickle. Raises Unusable, where it names a global that is not admitted."""
    machine = _Machine(admitted)
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name == "STOP":
                return machine.pop()
            machine.step(opcode.name, argument)
    except Unusable:
        raise
    # Opcodes in an impossible order, or cut off.
    except Exception:
        raise Unusable("the list of its tensors is damaged") from None
    raise Unusable("the list of its tensors is cut off")


class _Machine:
    def __init__(self, admitted: Callable[[str], bool]):
        self.admitted = admitted
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def pop(self) -> Any:
        found = self.stack.pop()
        if found is _MARK:
            raise IndexError
        return found

    def since_mark(self) -> list[Any]:
        at = (
            len(self.stack)
            - 1
            - next(i for i, each in enumerate(reversed(self.stack)) if each is _MARK)
        )
        found = self.stack[at + 1 :]
        del self.stack[at:]
        return found

    def step(self, name: str, argument: Any) -> None:
        if name in _LITERALS:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name]())
        elif name in _TUPLES:
            self.stack.append(tuple([self.pop() for _ in range(_TUPLES[name])][::-1]))
        elif name not in ("PROTO", "FRAME"):
            act = getattr(self, f"_{name.lower()}", None)
            if act is None:
                raise Unusable(f"holds what is no tensor (pickle opcode {name})")
            act(argument)

    def _mark(self, _: Any) -> None:
        self.stack.append(_MARK)

    def _tuple(self, _: Any) -> None:
        self.stack.append(tuple(self.since_mark()))

    def _binput(self, at: int) -> None:
        self.memo[at] = self.stack[-1]

    _long_binput = _binput

    def _memoize(self, _: Any) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def _binget(self, at: int) -> None:
        self.stack.append(self.memo[at])

    _long_binget = _binget

    def _append(self, _: Any) -> None:
        item = self.pop()
        self.stack[-1].append(item)

    def _appends(self, _: Any) -> None:
        items = self.since_mark()
        self.stack[-1].extend(items)

    def _setitem(self, _: Any) -> None:
        value, key = self.pop(), self.pop()
        self.stack[-1][key] = value

    def _setitems(self, _: Any) -> None:
        items = self.since_mark()
        self.stack[-1].update(zip(items[::2], items[1::2], strict=True))

    def _global(self, argument: str) -> None:
        self._named(argument.replace(" ", "."))

    def _stack_global(self, _: Any) -> None:
        name, module = self.pop(), self.pop()
        self._named(f"{module}.{name}")

    def _named(self, name: str) -> None:
        if not self.admitted(name):
            raise Unusable(
                f"holds a Python object that is no tensor ({name[:80]!r}), which is not read: save "
                "model.state_dict() alone"
            )
        self.stack.append(Global(name))

    def _reduce(self, _: Any) -> None:
        arguments, called = self.pop(), self.pop()
        if not isinstance(called, Global) or not isinstance(arguments, tuple):
            raise IndexError
        # An empty mapping, which is filled item by item.
        empty = called.name == "collections.OrderedDict" and not arguments
        self.stack.append({} if empty else Call(called.name, arguments))

    def _build(self, _: Any) -> None:
        """Attributes of a mapping, which nobody asks for."""
        self.pop()
        if not isinstance(self.stack[-1], dict):
            raise IndexError

    def _binpersid(self, _: Any) -> None:
        self.stack.append(Persistent(self.pop()))
