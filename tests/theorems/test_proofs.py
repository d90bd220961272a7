"""The proof map: what a proof rests on, and what falls with a statement."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from deqcheck import registry
from deqcheck.cli.main import cli
from deqcheck.theorems.base import AnyStatement, Statement
from deqcheck.theorems.proofs import lines, proof


def known() -> dict[str, type[AnyStatement]]:
    """thm rests on cor and, through it, on lem; alone rests on nothing."""

    def statement(id_: str, uses: tuple[str, ...], soundness: str) -> type[AnyStatement]:
        return type(id_, (Statement,), {"id": id_, "uses": uses, "soundness": soundness})

    return {
        "doe/thm": statement("doe/thm", ("doe/cor",), "unproven"),
        "doe/cor": statement("doe/cor", ("doe/lem",), "sound"),
        "doe/lem": statement("doe/lem", (), "false"),
        "doe/alone": statement("doe/alone", (), "sound"),
    }


def test_a_statement_has_its_place() -> None:
    found = known()
    assert proof(found["doe/thm"], found).uses == ("doe/cor",)
    assert proof(found["doe/thm"], found).through == ("doe/lem",)
    assert proof(found["doe/lem"], found).used_by == ("doe/cor",)
    assert proof(found["doe/lem"], found).falls_with == ("doe/thm", "doe/cor")


def test_what_does_not_stand_is_named_with_its_status() -> None:
    found = known()
    assert dict(lines(found["doe/thm"], found)) == {
        "its proof uses": "doe/cor",
        "and through these": "doe/lem (false as printed)",
    }
    assert dict(lines(found["doe/lem"], found)) == {
        "used by": "doe/cor",
        "falls with it": "doe/thm (unproven), doe/cor (sound)",
    }
    assert not dict(lines(found["doe/alone"], found))


def test_what_is_not_known_is_named_all_the_same() -> None:
    found = known()
    found["doe/cor"].uses = ("roe/lem", "doe/lem")
    assert proof(found["doe/cor"], found).uses == ("doe/lem", "roe/lem")


@pytest.mark.parametrize("statement", registry.statements().values(), ids=lambda s: s.id)
def test_every_proof_rests_on_statements_that_exist_and_not_on_itself(
    statement: type[AnyStatement],
) -> None:
    found = registry.statements()
    assert set(statement.uses) <= set(found)
    assert statement.id not in proof(statement, found).falls_with


def shown(*words: str) -> str:
    result = CliRunner().invoke(cli, ["theorems", "show", *words])
    assert result.exit_code == 0
    return str(result.output)


def test_theorems_show_tells_the_proof_map(monkeypatch: pytest.MonkeyPatch) -> None:
    theorem = registry.statements()["gao2022/thm4.2"]
    monkeypatch.setattr(theorem, "uses", ("gao2022/lem3.2",))
    assert "falls with it" in shown("gao2022/lem3.2")
    entry = json.loads(shown("gao2022/lem3.2", "--format", "json"))
    assert "gao2022/thm4.2" in entry["falls_with"]
