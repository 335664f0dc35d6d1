"""When one module fails, all hold: the loops stop, the devices are told to stay, and the error names module and reason."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from onbeat.errors import DeviceError, OnbeatError
from onbeat.policy.threads import Step

if TYPE_CHECKING:
    from onbeat.policy.module import Module

__all__ = ("Halt",)

_LOOK_NS = 20_000_000


class Halt:
    """Stops a rig's modules when one of them fails.

    Args:
        modules: By name; those with a send loop are stopped and held.
    """

    def __init__(self, modules: "Mapping[str, Module]") -> None:
        self.error: DeviceError | None = None
        self._modules = modules

    def guard(self, name: str, step: Step) -> Step:
        """Give a step of a module that halts all modules when it raises; once they are halted it does nothing more."""

        def guarded(now_ns: int) -> int:
            if self.error is not None:
                return now_ns + _LOOK_NS
            try:
                return step(now_ns)
            except (Exception, SystemExit) as error:  # whatever a driver raises, all devices are told to hold next
                raise self.stop(name, _reason(error)) from error

        return guarded

    def watch(self, now_ns: int) -> int:
        """Look at the send loops, and halt all modules when one has stopped on its own; gives the instant of the next look.

        Raises:
            DeviceError: one has stopped.
        """
        for name, module in self._modules.items():
            if self.error is None and module.loop is not None and (reason := module.loop.status().error):
                raise self.stop(name, reason)
        return now_ns + _LOOK_NS

    def stop(self, name: str, reason: str) -> DeviceError:
        """Stop all send loops and hold all devices; gives the error that says why.

        The module that failed comes last: its driver may block, and the others must not wait for it.
        """
        # Two threads may see a failure at the same time: the first is kept, and holding twice harms nothing.
        first = self.error is None
        error = DeviceError(f"module {name!r} stopped: {reason}; all modules hold")
        self.error = self.error or error
        said = [str(error)]
        order = sorted(self._modules.values(), key=lambda module: module.name == name)
        for module in order:
            if module.loop is None:
                continue
            try:
                module.loop.stop()
                module.device.hold()
            except (Exception, SystemExit) as failure:  # the others are still to be held
                said.append(f"module {module.name!r} could not be held: {_reason(failure)}")
        if len(said) > 1:
            error = DeviceError("; ".join(said))
        if first:
            self.error = error
        return error

    def close(self, modules: "Iterable[Module]") -> None:
        """Let go of all devices, also where one of them fails.

        Raises:
            DeviceError: one failed, and no error of a module was known before.
            KeyboardInterrupt: Ctrl-C meanwhile, once all have been let go of.
        """
        failures, interrupt = [], None
        for module in modules:
            try:
                module.close()
            except KeyboardInterrupt as error:
                interrupt = error
            except (Exception, SystemExit) as error:  # the others are still to be let go of
                failures.append(f"module {module.name!r} did not close: {_reason(error)}")
        if interrupt is not None:
            raise interrupt
        if failures and self.error is None:
            raise DeviceError("; ".join(failures))


def _reason(error: BaseException) -> str:
    return str(error) if isinstance(error, OnbeatError) else f"{type(error).__name__}: {error}"
