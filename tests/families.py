"""The families of kinds by the name of their room."""

from __future__ import annotations

from deqcheck.kinds import FAMILIES

ROOMS = {family.package.rpartition(".")[2]: family for family in FAMILIES}
