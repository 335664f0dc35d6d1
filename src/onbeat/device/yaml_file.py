"""One YAML file, read with the line of each key; what is wrong with it is said in one sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onbeat.errors import BadInput

__all__ = ("YamlFile", "leaf_end", "parse_yaml", "read_bytes", "read_yaml", "walk")


@dataclass(frozen=True, slots=True, eq=False)
class YamlFile:
    """A parsed file.

    Args:
        path: Where it was read.
        text: What was read, with its own line ends, without a byte order mark.
        data: Plain dicts, lists and scalars.
        root: The syntax tree of ruamel.yaml, whose nodes know where they stand in the text.
    """

    path: Path
    text: str
    data: dict[str, Any]
    root: Any

    def line_of(self, keys: Sequence[str | int]) -> int:
        """Give the line, counted from 1, of a key (or of the deepest of its parents that is there)."""
        line = self.root.start_mark.line
        for key_node, _ in walk(self.root, keys):
            line = key_node.start_mark.line
        return int(line) + 1


def walk(root: Any, keys: Sequence[str | int]) -> Iterator[tuple[Any, Any]]:
    """Go down a syntax tree: the pair (key node, value node) of each key, for as long as the keys are there."""
    node: Any = root
    for key in keys:
        if isinstance(node.value, str) or node.value is None:
            return
        if node.value and not isinstance(node.value[0], tuple):
            item = node.value[int(key)]
            pair = (item, item)
        else:
            found = [pair for pair in node.value if pair[0].value == str(key)]
            if not found:
                return
            pair = found[0]
        node = pair[1]
        yield pair


def leaf_end(node: Any) -> int:
    """Give the index in the text just after a node; a block ends with its last leaf, not with the comments that follow it."""
    if isinstance(node.value, str) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return leaf_end(last[1] if isinstance(last, tuple) else last)


def read_bytes(path: Path) -> bytes:
    """Read a file.

    Raises:
        BadInput: it is missing, a folder or unreadable.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        where = path.parent if path.parent.is_dir() else path
        beside = sorted(p.name for p in where.glob("*.y*ml")) if where.is_dir() else []
        there = f"its folder holds {', '.join(beside)}" if beside else "check the path"
        raise BadInput(f"there is no file {path}; {there}") from None
    except IsADirectoryError:
        raise BadInput(f"{path} is a folder; name the YAML file inside it") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); give the user that runs onbeat read permission") from None


def read_yaml(path: str | Path) -> YamlFile:
    """Read and parse a file whose top is a mapping.

    Raises:
        BadInput: the file is missing, empty, not UTF-8, not YAML, has a key twice, or is not a mapping.
    """
    path = Path(path)
    return parse_yaml(read_bytes(path), path)


def parse_yaml(raw: bytes, path: Path) -> YamlFile:
    """Parse what was read from `path`; raises BadInput as `read_yaml` does."""
    from ruamel.yaml import YAML
    from ruamel.yaml.composer import ComposerError
    from ruamel.yaml.constructor import DuplicateKeyError
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path} line {line} is not UTF-8 text; save the file as UTF-8") from None
    try:
        root = YAML(typ="rt", pure=True).compose(text)
        data = YAML(typ="safe", pure=True).load(text)
    except DuplicateKeyError as error:
        key = str(error.problem).split('"')[1]
        raise BadInput(f"key {key!r} stands twice in {path}, again in line {_line(error)}; remove one of them") from None
    except ComposerError as error:
        if "another document" in str(error.problem):
            raise BadInput(f"{path} holds more than one document, the second from line {_line(error)}; keep one a file") from None
        raise BadInput(f"{path} line {_line(error)} is not valid YAML: {error.problem}") from None
    except MarkedYAMLError as error:
        raise BadInput(
            f"{path} line {_line(error)} is not valid YAML: {error.problem}; check the indentation and quotes"
        ) from None
    except RecursionError:
        raise BadInput(f"{path} nests hundreds of levels deep; a rig has five") from None
    except (YAMLError, ValueError) as error:
        raise BadInput(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    if data is None:
        raise BadInput(f"{path} is empty; it needs at least the key 'device' (a module) or 'modules' (a rig)")
    if not isinstance(data, dict):
        raise BadInput(f"{path} holds a {type(data).__name__}, not keys with values; write 'key: value' lines")
    return YamlFile(path, text, data, root)


def _line(error: Any) -> int:
    # What was opened and never closed is found at the end of the file; the line to look at is where it was opened.
    unclosed = "<stream end>" in str(error.problem) or "end of stream" in str(error.problem)
    mark = (error.context_mark if unclosed else None) or error.problem_mark or error.context_mark
    return int(mark.line) + 1 if mark is not None else 1
