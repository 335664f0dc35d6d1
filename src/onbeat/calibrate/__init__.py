"""How late is it? Estimators that turn recordings into a value with its interval, or into a refusal with its reason."""

from onbeat.calibrate.camera import camera_latency
from onbeat.calibrate.delay import estimate_delay, pool_delays
from onbeat.calibrate.delay_lag import DelayLag, estimate_delay_lag
from onbeat.calibrate.offset import estimate_offset
from onbeat.calibrate.plant import PlantResult, identify_plant
from onbeat.calibrate.readout import read_latency
from onbeat.calibrate.result import CalibrationResult
from onbeat.calibrate.speed import SpeedTrial, check_sweep, max_speed, peak_speed_of_sine
from onbeat.calibrate.timecode import Code, CodeSchedule, decode_codes, encode_code, read_codes

__all__ = (
    "CalibrationResult",
    "Code",
    "CodeSchedule",
    "DelayLag",
    "PlantResult",
    "SpeedTrial",
    "camera_latency",
    "check_sweep",
    "decode_codes",
    "encode_code",
    "estimate_delay",
    "estimate_delay_lag",
    "estimate_offset",
    "identify_plant",
    "max_speed",
    "peak_speed_of_sine",
    "pool_delays",
    "read_codes",
    "read_latency",
)
