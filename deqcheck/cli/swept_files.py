"""The files of a sweep: tables and maps, by the endings of their names."""

from __future__ import annotations

from pathlib import Path

from deqcheck.cli.errors import Complaint
from deqcheck.cli.output import Destination, save
from deqcheck.records.sweep import Sweep
from deqcheck.report.parts import swept, swept_arrays

TABLES = (".csv", ".json", ".parquet", ".nc")


class Table:
    """Checked when made, before the long work."""

    def __init__(self, path: Path, inputs: tuple[str, ...]):
        self.path, self.suffix = path, path.suffix.lower()
        if self.suffix not in TABLES:
            known = ", ".join(TABLES)
            raise Complaint(f"cannot write {path}: expected a name that ends in one of {known}")
        absent = swept_arrays.missing(self.suffix)
        if absent:
            raise Complaint(f"cannot write {path}: {absent}")
        Destination(path, inputs=inputs)

    def write(self, sweep: Sweep) -> None:
        if self.suffix == ".csv":
            save(self.path, swept.as_csv(sweep))
        elif self.suffix == ".json":
            save(self.path, swept.as_json(sweep))
        elif self.suffix == ".parquet":
            save(self.path, swept_arrays.parquet(sweep))
        else:
            save(self.path, swept_arrays.netcdf(sweep))
