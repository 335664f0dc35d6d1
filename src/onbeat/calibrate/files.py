"""Write a figure into its module's YAML: only those lines change, and the file is never seen half written.

The text is edited where the parser says that the value stands, so comments, order, quotes, indentation and line ends survive byte
for byte. What comes out is parsed again before it takes the place of the old file, and must hold what was asked for and no more.
"""

import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from onbeat.calibrate.result import CalibrationResult
from onbeat.device.config import MEASURED_KEYS, KnownPlant, parse_module
from onbeat.device.load import simulated_rig_path
from onbeat.device.yaml_file import YamlFile, leaf_end, parse_yaml, read_bytes, walk
from onbeat.errors import BadInput

__all__ = ("check_writable", "write_copied", "write_measured", "write_plant")

_ATTEMPTS = 5
# They begin after an empty line.
_BLOCKS = ("plant", "provenance")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_RESERVED = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")

Value = float | int | str | None | Mapping[str, Any]
Keys = tuple[str | int, ...]


def write_measured(
    path: str | Path, key: str, result: CalibrationResult, *, date: str, host: str, module: str | None = None
) -> None:
    """Write an accepted measurement and where it comes from.

    Args:
        path: The module's YAML, or the rig's for a module written in place.
        key: "receive_latency", "action_latency" or "max_speed".
        result: What was measured; the value is written with six digits, more than any interval deserves.
        date: ISO 8601.
        host: The machine that measured.
        module: Name of the module where `path` is a rig's YAML.

    Raises:
        BadInput: the result was refused, the value is not physical, or the file cannot be edited; the file is then as it was.
    """
    if not result.accepted or result.value is None or result.ci95 is None:
        raise BadInput(f"{key} was refused and is not written to {path}: {result.reason}")
    value = _digits(result.value)
    _write_figure(Path(path), key, value, _measured(result, value, date, host), module)


def write_copied(path: str | Path, key: str, value: float, source: str, *, module: str | None = None) -> None:
    """Write a figure that was taken from elsewhere, marked as copied.

    Args:
        path: The module's YAML, or the rig's for a module written in place.
        key: "receive_latency", "action_latency" or "max_speed".
        value: In SI units.
        source: Where it was taken from, e.g. "another rig's arm.yaml".
        module: Name of the module where `path` is a rig's YAML.

    Raises:
        BadInput: the value is not physical, the source is not named, or the file cannot be edited; the file is then as it was.
    """
    if not source.strip():
        raise BadInput(f"{key} is copied from somewhere; name the source")
    _write_figure(Path(path), key, float(value), {"source": "copied", "value": float(value), "method": source}, module)


def write_plant(path: str | Path, joint: int, plant: KnownPlant, *, module: str | None = None) -> None:
    """Write one joint's plant under `plant:`, with where it comes from; action_latency stays as it is.

    Args:
        path: The module's YAML, or the rig's for a module written in place.
        joint: Its number, from 0.
        plant: What is known of it.
        module: Name of the module where `path` is a rig's YAML.

    Raises:
        BadInput: the file cannot be edited; it is then as it was.
    """
    block = asdict(plant)
    for inner in (block, block["provenance"]):
        for name in [name for name, figure in inner.items() if figure is None]:
            del inner[name]
    _write(Path(path), {("plant", joint): block}, module)


def check_writable(path: str | Path) -> None:
    """Check that a module's YAML may be written to.

    Raises:
        BadInput: it is missing, read-only, or belongs to the installed onbeat.
    """
    path = Path(path)
    read_bytes(path)
    real = path.resolve()
    if real.is_relative_to(simulated_rig_path().parent.parent):
        raise BadInput(f"{path} belongs to the installed onbeat and is not written; copy the rig first (onbeat.device.copy_rig)")
    if not os.access(real, os.W_OK):
        raise BadInput(f"{path} is read-only; allow writing with: chmod u+w {path}")


def _digits(figure: float) -> float:
    return float(f"{figure:.6g}")


def _measured(result: CalibrationResult, value: float, date: str, host: str) -> dict[str, Value]:
    return {
        "source": "measured",
        "value": value,
        "ci95": _digits(result.ci95 or 0.0),
        "n": int(result.n),
        "method": result.method,
        "date": date,
        "host": host,
    }


def _write_figure(path: Path, key: str, value: float, block: Mapping[str, Value], module: str | None) -> None:
    if key not in MEASURED_KEYS:
        raise BadInput(f"{key!r} is not a measured figure; they are {', '.join(MEASURED_KEYS)}")
    if not isfinite(value) or value < 0:
        unit = "" if key == "max_speed" else " s"
        raise BadInput(f"{key} came out as {value}{unit}, so the measurement did not track; it is not written to {path}")
    _write(path, {(key,): value, ("provenance", key): block}, module)


def _write(path: Path, edits: Mapping[Keys, Value], module: str | None) -> None:
    check_writable(path)
    real = path.resolve()
    try:
        _replace_file(real, lambda raw: _edited(raw, path, edits, module))
    except OSError as error:
        raise BadInput(f"{path} is as it was, because {real.parent} cannot be written to: {error.strerror}") from error


def _edited(raw: bytes, path: Path, edits: Mapping[Keys, Value], module: str | None) -> bytes:
    """Give the file's new bytes. Pure: text in, text out."""
    file = parse_yaml(raw, path)
    prefix = () if module is None else ("modules", module)
    parse_module(file, prefix, module or path.stem)
    wanted = deepcopy(file.data)
    for keys, value in edits.items():
        inner: Any = wanted
        for part in (*prefix, *keys[:-1]):
            if inner.get(part) is None:
                inner[part] = {}
            inner = inner[part]
        before = inner.get(keys[-1])
        inner[keys[-1]] = full = _over(before, value)
        file = _put(file, (*prefix, *keys), before, full)
    if file.data != wanted:
        (keys, value), *_ = edits.items()
        what = "/".join(map(str, keys)) + ("" if isinstance(value, Mapping) else f": {_scalar(value)}")
        raise BadInput(f"{path} is written in a way that cannot be edited safely; set {what} in it by hand")
    parse_module(file, prefix, module or path.stem)
    bom = b"\xef\xbb\xbf" if raw.startswith(b"\xef\xbb\xbf") else b""
    return bom + file.text.encode("utf-8")


def _over(before: Any, value: Value) -> Value:
    """Give what is to stand there: what an older block says and this one does not is no longer true, and becomes null."""
    if not isinstance(before, Mapping) or not isinstance(value, Mapping):
        return value
    gone: dict[str, Value] = {name: None for name in before if name not in value}
    return gone | {name: _over(before.get(name), value[name]) for name in value}


def _put(file: YamlFile, keys: Keys, before: Any, value: Value) -> YamlFile:
    """Set a value; of a block that is there already only the leaves, so that its comments stay."""
    if not (isinstance(before, Mapping) and before and isinstance(value, Mapping)):
        return _set(file, keys, value)
    for name, inner in value.items():
        file = _put(file, (*keys, name), before.get(name), inner)
    return file


def _set(file: YamlFile, keys: Keys, value: Value) -> YamlFile:
    """Put a value under a key, whether the key is there or not, and parse what comes out."""
    pairs = list(walk(file.root, keys))
    if len(pairs) < len(keys) - 1:
        return _set(file, keys[:-1], {str(keys[-1]): value})
    above = pairs[len(keys) - 2][1] if len(keys) > 1 else file.root
    if len(pairs) == len(keys):
        start, end, new = _replacement(file, above, pairs[-1], value)
    elif isinstance(above.value, str):
        return _set(file, keys[:-1], {str(keys[-1]): value})
    else:
        start, end, new = _insertion(file, above, keys, value)
    return parse_yaml((file.text[:start] + new + file.text[end:]).encode("utf-8"), file.path)


def _replacement(file: YamlFile, above: Any, pair: tuple[Any, Any], value: Value) -> tuple[int, int, str]:
    key, node = pair
    if node.anchor is not None:
        line = key.start_mark.line + 1
        raise BadInput(f"{key.value} in {file.path} line {line} shares its value (&{node.anchor}); write the number out there")
    start, end = int(node.start_mark.index), leaf_end(node)
    new = _text(file, value, above.flow_style, key.start_mark.column + 2)
    # An empty value stands directly after its colon; another one keeps the spaces before it.
    return start, end, new if start == end else new.removeprefix(" ")


def _insertion(file: YamlFile, above: Any, keys: Keys, value: Value) -> tuple[int, int, str]:
    key = keys[-1]
    if above.flow_style:
        if not above.value:
            at = int(above.end_mark.index) - 1
            return at, at, f"{key}:{_text(file, value, True, 0)}"
        at = leaf_end(above.value[-1][1])
        return at, at, f", {key}:{_text(file, value, True, 0)}"
    # A measured figure goes beside the others, everything else to the end.
    figures = [pair for pair in above.value if key in MEASURED_KEYS and pair[0].value in MEASURED_KEYS]
    beside = (figures or above.value)[-1]
    column = int(above.value[0][0].start_mark.column)
    line = f"{' ' * column}{key}:{_text(file, value, False, column + 2)}"
    newline = _newline(file)
    blank = newline if key in _BLOCKS else ""
    at = file.text.find("\n", max(int(beside[0].end_mark.index), leaf_end(beside[1])))
    if at < 0:
        return len(file.text), len(file.text), f"{newline}{blank}{line}{newline}"
    return at + 1, at + 1, f"{blank}{line}{newline}"


def _text(file: YamlFile, value: Value, flow: bool, column: int) -> str:
    """Give what stands after a key's colon, with the space or the line end before it."""
    if not isinstance(value, Mapping):
        return f" {_scalar(value)}"
    if flow:
        return " {" + ", ".join(f"{key}:{_text(file, inner, True, 0)}" for key, inner in value.items()) + "}"
    lines = [f"{' ' * column}{key}:{_text(file, inner, False, column + 2)}" for key, inner in value.items()]
    return "".join(_newline(file) + line for line in lines)


def _scalar(value: float | int | str | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.lower() not in _RESERVED
        return value if plain else '"' + "".join(map(_escaped, value)) + '"'
    text = repr(value)
    # YAML 1.1 readers take 1e-05 for text.
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"


def _newline(file: YamlFile) -> str:
    return "\r\n" if "\r\n" in file.text else "\n"


def _replace_file(path: Path, edit: Callable[[bytes], bytes]) -> None:
    """Replace a file by its edited self in one step; who changed it meanwhile keeps the change, which is read and edited anew."""
    with _folder_lock(path.parent) as folder:
        for _ in range(_ATTEMPTS):
            raw = read_bytes(path)
            new = edit(raw)
            state = path.stat()
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
            temporary = Path(name)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(new)
                    stream.flush()
                    os.fchmod(stream.fileno(), stat.S_IMODE(state.st_mode))
                    # Whoever runs as root for the sake of real time leaves the file to its owner.
                    with suppress(PermissionError):
                        os.fchown(stream.fileno(), state.st_uid, state.st_gid)
                    os.fsync(stream.fileno())
                if read_bytes(path) == raw:
                    os.replace(temporary, path)
                    os.fsync(folder)
                    return
            finally:
                temporary.unlink(missing_ok=True)
    raise BadInput(
        f"{path} was changed by someone else {_ATTEMPTS} times while it was being written; close its editor and try again"
    )


@contextmanager
def _folder_lock(folder: Path) -> Iterator[int]:
    """Keep other onbeat processes from writing in a folder; gives its descriptor."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # Some network file systems have no locks; the comparison before the rename still holds there.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)
