import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from onbeat.clock import ManualClock
from onbeat.device import load
from onbeat.device.config import ModuleConfig, load_rig_config
from onbeat.device.load import copy_rig, open_device, simulated_rig_path
from onbeat.errors import BadInput

DRIVER = """
class Arm:
    def __init__(self, config, clock):
        self.config, self.clock, self.info = config, clock, None
    def connect(self): ...
    def read(self): ...
    def write(self, command): ...
    def hold(self): ...
    def close(self): ...

class Half:
    info = None
    def __init__(self, config, clock): ...
    def read(self): ...
    def write(self, command): ...

class Narrow:
    def __init__(self, port): ...

class Raising:
    def __init__(self, config, clock):
        raise RuntimeError("no bus")

class Outer:
    Inner = Arm

limit = 3
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "maker_of_arms"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "driver.py").write_text(DRIVER)
    (folder / "needy.py").write_text("import a_package_that_is_not_there\n")
    (folder / "broken.py").write_text("def\n")
    (folder / "raising.py").write_text("raise RuntimeError('no firmware')\n")
    (folder / "leaving.py").write_text("raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in [name for name in sys.modules if name.startswith("maker_of_arms")]:
        del sys.modules[name]


def config(device: str) -> ModuleConfig:
    return ModuleConfig("arm", device, path=Path("arm.yaml"))


@pytest.mark.usefixtures("package")
def test_class_is_built_with_config_and_clock() -> None:
    clock = ManualClock()
    device = open_device(config("maker_of_arms.driver:Arm"), clock)
    assert type(device).__name__ == "Arm"
    assert vars(device)["clock"] is clock
    assert vars(device)["config"].name == "arm"


@pytest.mark.usefixtures("package")
def test_class_inside_a_class() -> None:
    assert type(open_device(config("maker_of_arms.driver:Outer.Inner"), ManualClock())).__name__ == "Arm"


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("maker_of_legs.driver:Arm", "there is no package 'maker_of_legs'; install it into this Python"),
        (
            "maker_of_arms.drivr:Arm",
            "package 'maker_of_arms' is there but has no module 'maker_of_arms.drivr'; check the spelling",
        ),
        (
            "maker_of_arms.needy:Arm",
            "'maker_of_arms.needy' needs the package 'a_package_that_is_not_there', which is not installed",
        ),
        ("maker_of_arms.driver:Amr", "maker_of_arms.driver has no 'Amr'; its classes are Arm, Half, Narrow, Outer"),
        ("maker_of_arms.driver:limit", "names a int; name a class"),
        ("maker_of_arms.driver:Half", "gives a Half without close, connect, hold; a device has info, connect, read, write, hold"),
        ("maker_of_arms.driver:Narrow", "cannot be built as Class(config, clock): "),
        ("maker_of_arms.broken:Arm", "cannot be imported: "),
        (":Arm", "cannot be imported: "),
        ("nobody", "is neither 'package.module:Class' nor an entry point of onbeat.devices (installed: none)"),
    ],
)
def test_refusal_names_the_module_and_what_was_found(device: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        open_device(config(device), ManualClock())
    assert str(caught.value).startswith(f"device {device!r} of module 'arm' (arm.yaml)")
    assert sentence in str(caught.value)


@pytest.mark.usefixtures("package")
def test_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(group: str) -> EntryPoints:
        assert group == "onbeat.devices"
        return EntryPoints(
            [
                EntryPoint("good", "maker_of_arms.driver:Arm", group),
                EntryPoint("bad", "maker_of_arms.driver:Amr", group),
            ]
        )

    monkeypatch.setattr(load, "entry_points", found)
    assert type(open_device(config("good"), ManualClock())).__name__ == "Arm"
    with pytest.raises(BadInput, match=r"is the entry point 'maker_of_arms\.driver:Amr', which cannot be imported"):
        open_device(config("bad"), ManualClock())
    with pytest.raises(BadInput, match=r"\(installed: bad, good\)"):
        open_device(config("nobody"), ManualClock())


def test_simulated_rig() -> None:
    rig = load_rig_config(simulated_rig_path())
    assert rig.name == "simulated"
    assert [(name, module.rate_hz, module.poll_hz) for name, module in rig.modules.items()][:2] == [
        ("arm", 250.0, 100.0),
        ("gripper", 125.0, 50.0),
    ]
    assert rig.modules["camera"].poll_hz is None
    for module in rig.modules.values():
        assert (module.receive_latency, module.action_latency, module.max_speed) == (0.0, 0.0, None)
        assert module.provenance_of("receive_latency").source == "assumed"
        assert module.provenance_of("max_speed").source == "absent"


def test_copy_of_a_rig_is_a_rig_of_its_own(tmp_path: Path) -> None:
    path = copy_rig(simulated_rig_path(), tmp_path / "run" / "rig")
    assert path == tmp_path / "run" / "rig" / "rig.yaml"
    copied = load_rig_config(path)
    assert copied.modules["arm"].path == tmp_path / "run" / "rig" / "modules" / "arm.yaml"
    for name, module in load_rig_config(simulated_rig_path()).modules.items():
        there, here = copied.modules[name].path, module.path
        assert there is not None
        assert here is not None
        assert there.read_bytes() == here.read_bytes()


def test_copy_of_a_rig_with_modules_in_place(tmp_path: Path) -> None:
    source = tmp_path / "mine.yaml"
    source.write_text("modules: {arm: {device: a:B}}\n")
    assert load_rig_config(copy_rig(source, tmp_path / "run")).modules["arm"].inline


def test_copy_of_a_rig_whose_module_lies_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "rigs").mkdir()
    (tmp_path / "arm.yaml").write_text("device: a:B\n")
    source = tmp_path / "rigs" / "rig.yaml"
    source.write_text("modules: {arm: ../arm.yaml}\n")
    with pytest.raises(BadInput, match=r"module 'arm' of .* lies outside the rig's folder"):
        copy_rig(source, tmp_path / "run")


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("maker_of_arms.raising:Arm", "cannot be imported: RuntimeError: no firmware"),
        ("maker_of_arms.leaving:Arm", "cannot be imported: SystemExit: 3"),
        (".maker_of_arms:Arm", "cannot be imported: TypeError: the 'package' argument is required"),
        ("maker_of_arms.driver:Raising", "cannot be built: RuntimeError: no bus"),
    ],
)
def test_whatever_a_driver_raises_its_module_is_named(device: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=f"of module 'arm' .* {sentence}"):
        open_device(config(device), ManualClock())
