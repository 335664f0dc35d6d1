"""When was it true? From the arrival of a frame, a row, a burst and a joint reading to the instant of each.

Run it with: python examples/02_stamps.py
"""

from onbeat.capture import Stamp, burst_capture_ns, camera_capture_ns, correct
from onbeat.errors import BadInput
from onbeat.units import to_ns, to_s

arrived_ns = to_ns(100)
readout_ns, transfer_ns, driver_ns = to_ns(2e-3), to_ns(5.5e-3), to_ns(1.5e-3)

print("A frame was true in the middle of its exposure, so a darker scene is an older one:")
for light, exposure_s in (("bright", 2e-3), ("dim", 20e-3)):
    capture_ns = camera_capture_ns(arrived_ns, to_ns(exposure_s), readout_ns, transfer_ns, driver_ns)
    print(f"  {light:6} exposed {exposure_s * 1e3:4.0f} ms, arrived at 100 s, true at {to_s(capture_ns):.5f} s")

rows_ns = [camera_capture_ns(arrived_ns, to_ns(5e-3), to_ns(12e-3), transfer_ns, driver_ns, row=r, rows=1080) for r in (0, 1079)]
print(f"The rows of one rolling-shutter image spread over {to_s(rows_ns[1] - rows_ns[0]) * 1e3:.3f} ms.")

ages_ns = arrived_ns - burst_capture_ns(arrived_ns, n=32, rate_hz=400, transport_ns=to_ns(3.1e-3))
print(f"32 samples that arrive together are {ages_ns[0] / 1e6:.1f} ms (the oldest) to {ages_ns[-1] / 1e6:.1f} ms old.")

stamp = Stamp(arrived_ns, arrived_ns, bound_ns=to_ns(1e-3), span_ns=0, seq=1, clock="monotonic")
stamp = correct(stamp, receive_latency_s=0.004)
print(f"A joint reading with a receive latency of 4 ms was true at {to_s(stamp.capture_ns):.3f} s.")
try:
    correct(stamp, receive_latency_s=0.004)
except BadInput as refusal:
    print(f"Correcting it again is refused: {refusal}.")
