"""A rig: modules on one clock, started, driven and stopped together."""

import logging
from collections.abc import Mapping
from pathlib import Path

from onbeat.clock import Clock, ManualClock, SystemClock
from onbeat.device import Device
from onbeat.device.config import ModuleConfig, RigConfig, copied_figures, load_rig_config
from onbeat.device.load import open_device
from onbeat.errors import BadInput, DeviceError, OnbeatError
from onbeat.loop import ProcessDevice, SendLoop
from onbeat.policy.halt import Halt
from onbeat.policy.module import Module
from onbeat.policy.threads import Drive
from onbeat.stream import Stream

__all__ = ("Rig", "load_rig")


class Rig:
    """Modules on one clock, driven by threads in real time or by hand on a manual clock.

    Args:
        modules: By name.
        clock: The clock of all stamps and plans.
        config: The files that the modules were built from, where there are any; `start` then warns of copied figures.
    """

    def __init__(self, modules: Mapping[str, Module], clock: Clock, config: RigConfig | None = None) -> None:
        self.modules = dict(modules)
        self.clock = clock
        self.config = config
        self.drive = Drive(clock)
        self._halt = Halt(self.modules)

    def __getitem__(self, name: str) -> Module:
        try:
            return self.modules[name]
        except KeyError:
            raise BadInput(f"the rig has no module {name!r}; it has {', '.join(self.modules)}") from None

    def __enter__(self) -> "Rig":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def error(self) -> DeviceError | None:
        """Why all modules hold, naming the one that failed; None while all is well."""
        return self._halt.error

    @property
    def streams(self) -> dict[str, Stream]:
        """The streams of all modules, by module."""
        return {name: module.stream for name, module in self.modules.items()}

    def start(self) -> None:
        """Open all devices, start reading and, at rest, sending.

        Each figure that was copied and not measured is warned of first (logger onbeat.rig).

        When a module's read or its send loop fails, all loops stop and all modules hold at once; the next `drive.run_until`
        raises a DeviceError with the name and the reason, and `error` keeps it. Load the rig anew to go on after that.

        Raises:
            DeviceError: a device cannot be opened, or a module has failed before; an error of onbeat comes as it is.
        """
        if self.error is not None:
            raise DeviceError(f"{self.error}; find the reason, then load the rig anew")
        for sentence in copied_figures(self.config) if self.config else ():
            logging.getLogger("onbeat.rig").warning(sentence)
        try:
            for name, module in self.modules.items():
                loop = _opened(module)
                if loop is not None:
                    self._start_loop(name, loop)
                self.drive.add(name, self._halt.guard(name, module.step))
            if not isinstance(self.clock, ManualClock):
                self.drive.add("(loops)", self._halt.watch)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop sending first, then reading, then hold and let go of every device; may be called twice."""
        try:
            for module in self.modules.values():
                if module.loop is not None:
                    module.loop.stop()
        finally:  # a second Ctrl-C ends the waiting, and never the holding
            try:
                self.drive.close()
            finally:
                self._halt.close(self.modules.values())

    def _start_loop(self, name: str, loop: SendLoop) -> None:
        if not isinstance(self.clock, ManualClock):
            loop.start()
            return
        self.drive.add(f"{name}-loop", self._halt.guard(name, lambda now_ns: loop.cycle(now_ns, now_ns)))


def _opened(module: Module) -> SendLoop | None:
    try:
        return module.start()
    except OnbeatError:
        raise
    except Exception as error:  # whatever a driver raises
        raise DeviceError(f"module {module.name!r} did not open: {type(error).__name__}: {error}") from error


def _built(config: ModuleConfig, clock: Clock) -> Device:
    """Build a module's device; on a manual clock, where no process can follow, always here: the same steps, the same results."""
    if config.process == "own" and not isinstance(clock, ManualClock):
        return ProcessDevice(config, clock)
    return open_device(config, clock)


def load_rig(path: str | Path, clock: Clock | None = None, devices: Mapping[str, Device] | None = None) -> Rig:
    """Build the rig that a YAML describes; nothing is opened before `start`.

    Args:
        path: The rig's YAML.
        clock: The clock of all stamps and plans; the machine's monotonic clock when not given.
        devices: Devices by module that are taken as they are, instead of being built from the YAML.

    Raises:
        BadInput: the YAML, or a module that it names, is not acceptable.
    """
    clock = clock or SystemClock()
    given = devices or {}
    config = load_rig_config(Path(path))
    modules = {
        name: Module(module, given[name] if name in given else _built(module, clock), clock)
        for name, module in config.modules.items()
    }
    return Rig(modules, clock, config)
