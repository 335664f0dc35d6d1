"""From a name in a YAML, "package.module:Class", to the thing that it names, or one sentence that says what is missing."""

import os
import sys
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from typing import Any, Literal

from onbeat.errors import BadInput, OnbeatError

__all__ = ("import_named",)


def import_named(name: str, said: str, what: Literal["class", "function"] = "class") -> Any:
    """Import what a name stands for.

    The working directory counts, after everything that is installed, as it does for `python -m`: a file beside the YAML can hold
    a driver or a policy, whichever program loads it.

    Args:
        name: "package.module:Name"; Name may have dots.
        said: How a sentence speaks of it: "device 'a.b:Arm' of module 'arm' (arm.yaml)".
        what: What it should be; the sentence lists those that are there.

    Raises:
        BadInput: the package, the module or the name in it is missing, cannot be imported, or cannot be called.
        OnbeatError: raised while the module is imported; goes through unchanged.
    """
    module_name, _, path = name.partition(":")
    package = module_name.partition(".")[0]
    _count_working_folder()
    try:
        here: Any = import_module(module_name)
    except ModuleNotFoundError as error:
        raise BadInput(f"{said}: {_what_is_missing(module_name, package, error.name or '')}") from error
    except OnbeatError:
        raise
    except (ImportError, ValueError, SyntaxError) as error:
        raise BadInput(f"{said} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:  # foreign code: whatever it raises, what was named is said
        raise BadInput(f"{said} cannot be imported: {type(error).__name__}: {error}") from error
    for part in path.split("."):
        if not hasattr(here, part):
            found = ", ".join(sorted(key for key, value in vars(here).items() if _is(value, what, key))) or "none"
            plural = "classes" if what == "class" else "functions"
            raise BadInput(f"{said}: {module_name} has no {part!r}; its {plural} are {found}")
        here = getattr(here, part)
    if not callable(here):
        raise BadInput(f"{said} names a {type(here).__name__}; name a {what}")
    return here


def _count_working_folder() -> None:
    try:
        folder = os.getcwd()
    except FileNotFoundError:  # it was removed: nothing can be imported from it
        return
    if folder not in sys.path and "" not in sys.path:
        sys.path.append(folder)
    invalidate_caches()


def _is(value: object, what: str, name: str) -> bool:
    return not name.startswith("_") and (isinstance(value, type) if what == "class" else _is_function(value))


def _is_function(value: object) -> bool:
    return callable(value) and not isinstance(value, type)


def _what_is_missing(module_name: str, package: str, missing: str) -> str:
    if missing == package or find_spec(package) is None:
        return f"there is no package {package!r}; install it into this Python, or start onbeat where it can be imported"
    if module_name == missing or module_name.startswith(f"{missing}."):
        return f"package {package!r} is there but has no module {missing!r}; check the spelling"
    return f"{module_name!r} needs the package {missing!r}, which is not installed; install it into this Python"
