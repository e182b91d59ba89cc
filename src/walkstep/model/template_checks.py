"""Whether templates fit together, and fit the variables and columns of the data."""

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from walkstep.features.expression import Atom, Expression
from walkstep.features.properties import PROPERTIES, check_expression, kind_of, parts_of, unknown_name
from walkstep.model.conditions import And, Compare, Holds, Not, Or, Value, values_in
from walkstep.model.templates import Default, Template


def block_names(templates: tuple[Template, ...]) -> list[str]:
    """The weight block of each template; unnamed ones are told apart, named ones must fit together."""
    if not templates:
        raise ValueError("the model has no templates; give at least one, or use linear_chain()")
    names, first = [], {}
    count: Counter[str] = Counter()
    for template in templates:
        name = template.label
        if template.name is None:
            count[name] += 1
            names.append(name if count[name] == 1 else f"{name} ({count[name]})")
            continue
        names.append(name)
        other = first.setdefault(name, template)
        for what, mine, others in (
            ("variables", [s.variable for s in template.scope], [s.variable for s in other.scope]),
            ("features", template.features, other.features),
            ("features at j", template.j_features, other.j_features),
            ("bias", template.has_bias, other.has_bias),
        ):
            if mine != others:
                raise template.error(
                    f"two templates are called {name!r} and so share weights, but differ in {what}; "
                    "give them different names, or the same shape"
                )
    return names


def check_variables(templates: Iterable[Template], variables: Sequence[str]) -> None:
    """Refuse sites whose variable is none of these."""
    for name, count in Counter(variables).items():
        if count > 1:
            raise ValueError(f"two domains are called {name!r}; give them different names")
    for template in templates:
        for site in template.scope:
            if site.variable not in variables:
                close = difflib.get_close_matches(site.variable, variables, 1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                raise template.error(
                    f"unknown variable {site.variable!r}; {hint}There are: {', '.join(variables) or 'none'}", site
                )


def names_in(template: Template) -> Iterator[tuple[object, str]]:
    """The parts of a template that name properties, as its source places them, and the names."""
    for index, features in (("i", template.features), ("j", template.j_features)):
        for feature in features:
            if not isinstance(feature, Default):
                yield from (((index, part), part.name) for part in parts_of(feature))
    yield from ((value, value.name) for value in values_in(template.where))


def check_names(template: Template, columns: Collection[str] | None, functions: Collection[str] = ()) -> None:
    """Refuse names that are no property, function or column, and properties used as what they are not.

    Parameters
    ----------
    template : Template
    columns : collection of str, optional
        The columns of the data; where they are not known yet, a name may turn out to be one.
    functions : collection of str
        Names of the user's functions.
    """
    for part, name in names_in(template):
        if columns is not None and name not in {*PROPERTIES, *functions, *columns}:
            raise template.error(str(unknown_name(name, columns, functions)), part)
    for index, features in (("i", template.features), ("j", template.j_features)):
        for feature in features:
            if not isinstance(feature, Default):
                _check_arguments(template, feature, (index, parts_of(feature)[0]), functions)
    for value in values_in(template.where):
        _check_arguments(template, Atom(value.name, 0, value.argument), value, functions)
    _check_uses(template, {*PROPERTIES, *(columns or ())}.difference(functions))


def _check_arguments(template: Template, expression: Expression, part: object, functions: Collection[str]) -> None:
    """Arguments must stand where they belong."""
    try:
        check_expression(expression, functions)
    except ValueError as error:
        raise template.error(str(error), part) from None


def _check_uses(template: Template, known: Collection[str]) -> None:
    """Texts must not be used as flags, nor flags as texts; functions can be either."""
    pending = [template.where]
    while pending:
        match pending.pop():
            case And(parts) | Or(parts):
                pending += reversed(parts)
            case Not(part):
                pending.append(part)
            case Holds(value) if value.name in known and kind_of(value.name) == "value":
                raise template.error(
                    f'{value.name!r} is not a matter of yes or no; compare it with something, such as {value} == "..."',
                    value,
                )
            case Compare(left, _, Value() as right):
                _check_twins(template, left, right)
            case Compare(left, _, _) if kind_of(left.name) == "flag":
                raise template.error(f"{left.name!r} is a matter of yes or no; write {left} or not {left}", left)


def _check_twins(template: Template, left: Value, right: Value) -> None:
    """Two values that are compared must have one value each, or be both flags."""
    for value in (left, right):
        if kind_of(value.name) == "many":
            raise template.error(
                f"{value.name!r} has several values at a token, so two tokens cannot be compared by it; "
                f'compare it with a text, such as {value} == "..."',
                value,
            )
    if (kind_of(left.name) == "flag") != (kind_of(right.name) == "flag"):
        raise template.error(f"{left} and {right} cannot be equal, for one is a matter of yes or no", left)
