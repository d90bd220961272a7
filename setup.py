"""Packs the folder `cases` as `deqcheck/cases`; all else stands in setup.cfg."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

KINDS = {".yaml", ".npz", ".pt", ".json"}


class BuildWithCases(build_py):
    """An editable install does without copies: there `cases` lies beside the package."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for target, source in self._cases().items():
            self.mkpath(str(Path(target).parent))
            self.copy_file(source, target)

    def get_source_files(self) -> list[str]:
        """These go into the sdist."""
        return [*super().get_source_files(), *self._cases().values()]

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return [*super().get_outputs(include_bytecode), *self._cases()]

    def get_output_mapping(self) -> dict[str, str]:
        """A strict editable install links these."""
        return {**super().get_output_mapping(), **self._cases()}

    def _cases(self) -> dict[str, str]:
        """Where each file goes, and where it is."""
        found = sorted(p for p in Path("cases").rglob("*") if p.suffix in KINDS)
        return {str(Path(self.build_lib, "deqcheck", p)): str(p) for p in found}


setup(cmdclass={"build_py": BuildWithCases})
