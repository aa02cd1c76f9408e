"""Options of goals, from the goals' own declarations: a goal that is registered is an option by itself.

A command with ``cls=GoalCommand`` has an option for each goal. They are made when the command is read or its help is
asked for, so that other commands need not load what goals are made of. What was typed is kept in the context.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from ..errors import InvalidInputError

if TYPE_CHECKING:
    from ..goals import Goal

TYPED = "fairclust.goals"  # where a context keeps what was typed, by the parameter's name


class GoalCommand(TyperCommand):
    """A command that fits, with an option for every goal."""

    def takes(self, goal: type[Goal]) -> bool:
        """Whether the command has an option for this goal."""
        return True

    def get_params(self, ctx: Any) -> list[Any]:
        """The command's own parameters, and those of goals before ``--target``."""
        from ..goals import GOALS

        own = super().get_params(ctx)
        place = [parameter.name for parameter in own].index("target")
        return [*own[:place], *_options(tuple(filter(self.takes, GOALS.values()))), *own[place:]]


class PathCommand(GoalCommand):
    """A command that looks for clusters which meet a goal: costs are no goals for it."""

    def takes(self, goal: type[Goal]) -> bool:
        """Whether a clustering meets the goal or not."""
        return goal.is_constraint


class AuditCommand(PathCommand):
    """A command that judges clusters which are there: what they may cost is no goal for it either."""

    def takes(self, goal: type[Goal]) -> bool:
        """Whether clusters meet the goal or not, whatever others cost."""
        from ..goals import Goal

        return goal.is_constraint and goal.cost_limit is Goal.cost_limit


def asked_goal(context: typer.Context) -> Goal | None:
    """The goal that was typed, or None.

    Parameters
    ----------
    context : typer.Context
        A :class:`GoalCommand` that was read.
    """
    from ..goals import GOALS

    typed = context.meta.get(TYPED, {})
    goals = [cls for option, cls in GOALS.items() if _name(option) in typed]
    if len(goals) > 1:
        names = " and ".join(f"--{cls.option}" for cls in goals)
        raise InvalidInputError(f"{names} are both given. Give one of them.")
    for cls in GOALS.values():
        for flag, _ in cls.flags.values():
            if _name(flag) in typed and cls not in goals:
                raise InvalidInputError(f"--{flag} needs --{cls.option}.")
    return _read(goals[0], typed) if goals else None


def _read(cls: type[Goal], typed: dict[str, Any]) -> Goal:
    text = typed[_name(cls.option)]
    try:
        goal = cls.from_text("" if text is True else text)
    except ValueError as error:
        said = f" {error}" if "=" in text and isinstance(error, InvalidInputError) else ""
        raise InvalidInputError(
            f"--{cls.option} {text!r}, but a value {cls.range} is needed, for example {cls.example}.{said}"
        ) from error
    chosen = {field: True for field, (flag, _) in cls.flags.items() if _name(flag) in typed}
    return replace(goal, **chosen)  # type: ignore[type-var]


@cache
def _options(goals: tuple[type[Goal], ...]) -> list[Any]:
    """Parameters of a command, as typer makes them from a signature."""
    parameters = []
    for cls in goals:
        is_flag = not fields(cls)  # type: ignore[arg-type]
        value = "" if is_flag else f"; {cls.range}, such as {cls.example}"
        parameters.append(_parameter(cls.option, f"Goal: {cls.help}{value}.", is_flag=is_flag))
        for flag, text in cls.flags.values():
            parameters.append(_parameter(flag, f"With --{cls.option}: {text}.", is_flag=True))

    def command() -> None:
        pass

    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    made = typer.Typer()
    made.command()(command)
    found = {parameter.name: parameter for parameter in typer.main.get_command(made).params}
    return [found[parameter.name] for parameter in parameters]


def _parameter(option: str, text: str, *, is_flag: bool) -> Parameter:
    given = typer.Option(
        f"--{option}", help=text, expose_value=False, callback=_kept_flag if is_flag else _kept_text, show_default=False
    )
    kind: Any = bool if is_flag else list[str] | None
    default = False if is_flag else None
    return Parameter(_name(option), Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, given])


def _kept_flag(context: typer.Context, parameter: typer.CallbackParam, value: bool) -> None:
    if value:
        context.meta.setdefault(TYPED, {})[parameter.name] = True


def _kept_text(context: typer.Context, parameter: typer.CallbackParam, value: list[str] | None) -> None:
    if value:  # an option that is repeated goes on where it was
        context.meta.setdefault(TYPED, {})[parameter.name] = ",".join(value)


def _name(option: str) -> str:
    return option.replace("-", "_")
