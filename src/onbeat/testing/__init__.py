"""Is it what it must be? Contracts that an implementer's tests inherit."""

from onbeat.testing.device_contract import DeviceContract

__all__ = ("DeviceContract",)
