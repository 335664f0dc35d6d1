"""Situations of a process, each as the first lines of a program: as it is (root in the pipeline), without privileges, on one CPU.

The interpreter may lie where only root may read. So a process without privileges keeps the right to read files, and none else.
"""

AS_IT_IS = ""

AS_NOBODY = """
import ctypes as _c, os as _o, resource as _r, struct as _s
_r.setrlimit(_r.RLIMIT_RTPRIO, (0, 0))
_r.setrlimit(_r.RLIMIT_MEMLOCK, (65536, 65536))
if _o.geteuid() == 0:
    _libc = _c.CDLL(None)
    _libc.prctl(8, 1, 0, 0, 0)  # PR_SET_KEEPCAPS
    _o.setgroups([])
    _o.setgid(65534)
    _o.setuid(65534)
    _libc.capset(_s.pack("Ii", 0x20080522, 0), _s.pack("6I", 4, 4, 0, 0, 0, 0))  # CAP_DAC_READ_SEARCH
    _libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: else /proc/self belongs to root
"""

ON_ONE_CPU = """
import os as _o
_o.sched_setaffinity(0, {min(_o.sched_getaffinity(0))})
"""

SITUATIONS = {"as it is": AS_IT_IS, "without privileges": AS_NOBODY, "on one CPU": ON_ONE_CPU}
