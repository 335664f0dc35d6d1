"""From a policy's YAML to the callable that it names."""

import inspect
from functools import partial

from onbeat.device.config import PolicyConfig
from onbeat.device.named import import_named
from onbeat.errors import BadInput
from onbeat.policy.runner import Policy

__all__ = ("load_policy",)


def load_policy(config: PolicyConfig) -> Policy:
    """Import the callable `Observation -> targets` that a policy's YAML names; its `params` are handed to it by keyword.

    Args:
        config: Of the policy; its `policy` names "package.module:function".

    Raises:
        BadInput: none is named, what is named is missing or a class, or it does not take an observation and the params; the
            sentence names the file.
        OnbeatError: raised while the module is imported; goes through unchanged.
    """
    file = config.path or "the policy's YAML"
    if config.policy is None:
        raise BadInput(f"{file} names no policy; add a line policy: package.module:function")
    said = f"policy {config.policy!r}" + (f" ({config.path})" if config.path else "")
    if not all(config.policy.partition(":")):
        raise BadInput(f"{said} is not 'package.module:function'; write the module, a colon and the function in it")
    function = import_named(config.policy, said, "function")
    if isinstance(function, type):
        raise BadInput(f"{said} names a class; name a function, or an object of the class that can be called")
    try:
        inspect.signature(function).bind(None, **config.params)
    except TypeError as error:
        given = "".join(f", {key}=..." for key in config.params)
        raise BadInput(f"{said} cannot be called as function(observation{given}): {error}") from error
    except ValueError:
        pass  # what is written in C does not always say what it takes
    policy: Policy = partial(function, **config.params) if config.params else function
    return policy
