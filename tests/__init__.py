"""Loaded before numpy: processes that share the cores must not have threads that fight for them."""

import os

from deqcheck.threads import ONE

os.environ.update(ONE)
