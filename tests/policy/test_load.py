import sys
from pathlib import Path
from typing import Any

import pytest

from onbeat.device.config import PolicyConfig
from onbeat.errors import BadInput
from onbeat.policy.load import load_policy

SOURCE = """
def follow(observation, gain=1.0):
    return gain * observation

class Net:
    def __call__(self, observation):
        return -observation

net = Net()
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_trained_policy", raising=False)
    (tmp_path / "my_trained_policy.py").write_text(SOURCE)


def config(policy: str | None, **params: Any) -> PolicyConfig:
    return PolicyConfig(0.1, policy=policy, params=params, path=Path("policy.yaml"))


def called(policy: str, **params: Any) -> Any:
    observation: Any = 2.0  # a policy takes what it takes
    return load_policy(config(policy, **params))(observation)


def test_function_or_callable_object_in_the_working_folder() -> None:
    assert called("my_trained_policy:follow") == 2.0
    assert called("my_trained_policy:net") == -2.0


def test_params_are_handed_over_by_keyword() -> None:
    assert called("my_trained_policy:follow", gain=3.0) == 6.0


@pytest.mark.parametrize(
    ("policy", "params", "sentence"),
    [
        (None, {}, r"^policy.yaml names no policy; add a line policy: package.module:function$"),
        ("my_trained_policy", {}, r"^policy 'my_trained_policy' \(policy.yaml\) is not 'package.module:function'"),
        (":follow", {}, "is not 'package.module:function'"),
        ("my_trained_policy:folow", {}, "my_trained_policy has no 'folow'; its functions are follow, net"),
        ("my_trained_policy:Net", {}, "names a class; name a function, or an object of the class"),
        ("my_untrained_policy:follow", {}, "there is no package 'my_untrained_policy'"),
        ("my_trained_policy:follow", {"gian": 2}, r"cannot be called as function\(observation, gian=...\)"),
    ],
)
def test_what_is_no_policy_is_refused(policy: str | None, params: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        load_policy(config(policy, **params))
