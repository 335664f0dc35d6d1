import inspect

import pytest

from onbeat import errors
from onbeat.errors import BadInput, Forgotten, Gap, MissingExtra, NotYet, OnbeatError


@pytest.mark.parametrize("name", errors.__all__)
def test_everything_raised_on_purpose_is_an_onbeat_error(name: str) -> None:
    assert issubclass(getattr(errors, name), OnbeatError)


def test_every_error_is_listed() -> None:
    classes = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    assert classes == set(errors.__all__)


def test_bad_input_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="the fact"):
        raise BadInput("the fact")


def test_facts_with_different_answers_are_not_caught_together() -> None:
    kinds = (NotYet, Forgotten, Gap)
    assert not any(issubclass(a, b) for a in kinds for b in kinds if a is not b)


def test_missing_extra_says_how_to_install_it() -> None:
    error = MissingExtra("pyarrow", "lerobot")
    assert str(error) == "pyarrow is not installed; install it with: pip install 'onbeat[lerobot]'"
    assert (error.need, error.extra) == ("pyarrow", "lerobot")
