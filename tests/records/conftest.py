"""How long an example takes says nothing about it: other processes may keep the machine busy."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
