"""Frozen dataclasses that cost little to define.

The standard decorator compiles six methods of each class, half a millisecond; a command defines a
hundred classes before it begins, and makes objects of less than half of them. Here `__init__` is
compiled when it is first looked at, and the other methods are not compiled at all. Everything else
is the standard decorator's, which is the twin in the tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses
    from dataclasses import MISSING, FrozenInstanceError, fields
    from operator import attrgetter
    from reprlib import recursive_repr

    def dataclass(*, frozen, repr=True, eq=True, kw_only=False):
        """As `dataclasses.dataclass` with these options, for frozen classes alone."""
        if not frozen:
            raise TypeError("expected frozen=True; other classes are for dataclasses.dataclass")

        def made(cls):
            own = set(vars(cls))
            # Else the standard decorator would ask for the signature to write one.
            cls.__doc__ = cls.__doc__ or cls.__name__
            derived = any(map(dataclasses.is_dataclass, cls.__mro__[1:]))
            dataclasses.dataclass(
                init=False, repr=False, eq=False, frozen=derived, kw_only=kw_only
            )(cls)
            if not all(f.init and f.hash is None for f in fields(cls)):
                raise TypeError(f"{cls.__name__}: init and hash of a field are not for frozen.py")
            methods = {"__init__": _Init(cls)}
            if not derived:
                methods |= _frozen(cls)
                # What the standard decorator asks of the bases of a class.
                cls.__dataclass_params__.frozen = True
            if repr:
                methods["__repr__"] = _repr
            if eq:
                methods |= _compared(cls)
            for name in methods.keys() - own:
                setattr(cls, name, methods[name])
            return cls

        return made

    def _frozen(cls):
        """Nothing can be set, beside what a derived class has of its own."""

        def check(self, name, verb):
            if type(self) is cls or name in cls.__dataclass_fields__:
                raise FrozenInstanceError(f"cannot {verb} field {name!r}")

        def set_(self, name, value):
            check(self, name, "assign to")
            super(cls, self).__setattr__(name, value)

        def delete(self, name):
            check(self, name, "delete")
            super(cls, self).__delattr__(name)

        return {"__setattr__": set_, "__delattr__": delete}

    class _Init:
        """`__init__` before it is written. Threads may write it twice: the same."""

        def __init__(self, cls):
            self.cls = cls

        def __get__(self, instance, owner=None):
            written = _written(self.cls)
            self.cls.__init__ = written
            return written.__get__(instance, owner)

    def _written(cls):
        known = sorted(fields(cls), key=lambda f: f.kw_only)
        scope = {"_set": object.__setattr__, "_factory": _FACTORY}
        words, lines = ["self"], []
        for f in known:
            name, value = f.name, f.name
            if f.kw_only and "*" not in words:
                words.append("*")
            if f.default is not MISSING:
                scope[f"_default_{name}"] = f.default
                name += f"=_default_{name}"
            elif f.default_factory is not MISSING:
                scope[f"_new_{name}"] = f.default_factory
                value = f"_new_{name}() if {name} is _factory else {name}"
                name += "=_factory"
            words.append(name)
            lines.append(f"_set(self, {f.name!r}, {value})")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        exec(f"def __init__({', '.join(words)}): {'; '.join(lines) or 'pass'}", scope)
        written = scope["__init__"]
        written.__qualname__, written.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
        written.__annotations__ = {f.name: f.type for f in known} | {"return": None}
        return written

    class _Factory:
        """The default of a field whose default is made anew for each object."""

        def __repr__(self):
            return "<factory>"

    _FACTORY = _Factory()

    @recursive_repr()
    def _repr(self):
        told = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
        return f"{type(self).__qualname__}({', '.join(told)})"

    def _compared(cls):
        """Objects of one class are equal if their fields are."""
        names = [f.name for f in fields(cls) if f.compare]
        # Of one name alone attrgetter makes no tuple, in which identical values are equal.
        few = len(names) < 2
        of = (lambda self: tuple([getattr(self, n) for n in names])) if few else attrgetter(*names)

        def equal(self, other):
            return of(self) == of(other) if other.__class__ is self.__class__ else NotImplemented

        def hashed(self):
            return hash(of(self))

        return {"__eq__": equal, "__hash__": hashed}
