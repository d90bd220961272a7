"""Xie et al. 2021: OptEq networks. The instances are in the modules beside this one."""

from __future__ import annotations

from .xie2021_bounds import INSTANCES as BOUNDS
from .xie2021_maps import INSTANCES as MAPS
from .xie2021_sam import INSTANCES as SAM
from .xie2021_training import INSTANCES as TRAINING
from .xie2021_views import INSTANCES as VIEWS

INSTANCES = [*VIEWS, *SAM, *BOUNDS, *TRAINING, *MAPS]
EXEMPT: dict[str, dict[str, str]] = {}
