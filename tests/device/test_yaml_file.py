from pathlib import Path

import pytest

from onbeat.device.yaml_file import leaf_end, parse_yaml, read_bytes, read_yaml, walk
from onbeat.errors import BadInput

TEXT = """\
# head
device: a:B   # a comment
params:
  ids: [1, 2]
  text: |
    two
    lines

# tail
last:
"""


def test_data_and_lines() -> None:
    file = parse_yaml(TEXT.encode(), Path("arm.yaml"))
    assert file.data == {"device": "a:B", "params": {"ids": [1, 2], "text": "two\nlines\n"}, "last": None}
    assert file.text == TEXT
    assert [file.line_of(keys) for keys in ((), ("device",), ("params", "ids"), ("params", "ids", 1), ("last",))] == [
        2,
        2,
        4,
        4,
        10,
    ]


def test_line_of_a_key_that_is_not_there_is_its_parents() -> None:
    file = parse_yaml(TEXT.encode(), Path("arm.yaml"))
    assert file.line_of(("params", "nothing", "deeper")) == 3
    assert file.line_of(("device", "deeper")) == 2


def test_block_ends_with_its_last_leaf_not_with_a_comment() -> None:
    file = parse_yaml(b"params:\n  port: x # c\n\n# tail\nnext: 1\n", Path("arm.yaml"))
    ((_, params),) = walk(file.root, ("params",))
    assert file.text[: leaf_end(params)] == "params:\n  port: x"
    assert file.text[: leaf_end(file.root)].endswith("next: 1")


def test_byte_order_mark_is_no_part_of_the_text() -> None:
    assert parse_yaml(b"\xef\xbb\xbfdevice: a:B\n", Path("arm.yaml")).text == "device: a:B\n"


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "arm.yaml is empty; it needs at least the key 'device' (a module) or 'modules' (a rig)"),
        (b"# only a comment\n", "arm.yaml is empty"),
        (b"- 1\n", "arm.yaml holds a list, not keys with values; write 'key: value' lines"),
        (b"text\n", "arm.yaml holds a str, not keys with values"),
        (b"a: 1\nb: 2\na: 3\n", "key 'a' stands twice in arm.yaml, again in line 3; remove one of them"),
        (b"a: 1\nb: [1\n", "arm.yaml line 2 is not valid YAML: expected ',' or ']'"),
        (b"a: 1\nb: 'open\n", "arm.yaml line 2 is not valid YAML: found unexpected end of stream"),
        (b"a: 1\n b: 2\n", "arm.yaml line 2 is not valid YAML: mapping values are not allowed here; check the indentation"),
        (b"a:\n\tb: 2\n", "arm.yaml line 2 is not valid YAML: found character '\\t' that cannot start any token"),
        (b"a: 1\nb: *missing\n", "arm.yaml line 2 is not valid YAML: found undefined alias 'missing'"),
        (b"a: 1\n---\nb: 2\n", "arm.yaml holds more than one document, the second from line 2; keep one a file"),
        (b"a: b\nc: \xff\xfe\n", "arm.yaml line 2 is not UTF-8 text; save the file as UTF-8"),
        (b"a: \x07\n", "arm.yaml is not valid YAML: unacceptable character #x0007"),
    ],
)
def test_refusal_is_one_sentence(raw: bytes, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_yaml(raw, Path("arm.yaml"))
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_missing_file_says_what_is_beside_it(tmp_path: Path) -> None:
    (tmp_path / "arm.yaml").write_text(TEXT)
    with pytest.raises(BadInput, match=r"there is no file .*amr\.yaml; its folder holds arm\.yaml"):
        read_yaml(tmp_path / "amr.yaml")
    with pytest.raises(BadInput, match=r"there is no file .*; check the path"):
        read_yaml(tmp_path / "nowhere" / "arm.yaml")


def test_folder_instead_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is a folder; name the YAML file inside it"):
        read_bytes(tmp_path)


def test_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(BadInput, match=r"cannot be read \(Permission denied\); give the user that runs onbeat read permission"):
        read_bytes(tmp_path / "arm.yaml")


@pytest.mark.parametrize("text", ["a: " + "[" * 3000 + "]" * 3000, "{a: " * 3000 + "1" + "}" * 3000])
def test_a_file_without_bottom(text: str) -> None:
    with pytest.raises(BadInput, match="nests hundreds of levels deep"):
        parse_yaml(text.encode(), Path("rig.yaml"))
