"""`onbeat clock serve | status | watch`: one clock across machines, and how well it is known."""

import sys
from collections import deque
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onbeat.cli.main import FINDING, GOOD
from onbeat.cli.terminal import Terminal
from onbeat.errors import BadInput

if TYPE_CHECKING:
    from onbeat.clock import ClockClient, ClockStatus
    from onbeat.clock.daemon_reports import DaemonReport

__all__ = ("EXAMPLE", "app", "serve", "status", "watch")

EXAMPLE = "onbeat clock serve --host 0.0.0.0"

_LOOK_NS = 200_000_000
_WINDOW_S = 120.0
_CRYSTAL_PPM = 100.0
_YEAR_S = 365 * 86400.0

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=False,
    help="Keep one clock across machines: serve it, say how well it is known, and watch it.",
    epilog=f"Example: {EXAMPLE}",
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 110},
)

_Server = Annotated[str, typer.Argument(metavar="HOST[:PORT]", help="The server, on port 5558 unless said.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command(epilog="Example: onbeat clock serve --host 0.0.0.0")
def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 for all networks.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port; 0 takes a free one.")] = 5558,
    upstream: Annotated[
        str | None, typer.Option("--upstream", metavar="HOST[:PORT]", help="Serve that server's time on, bounds added.")
    ] = None,
    json: _Json = False,
) -> int:
    """Serve this machine's monotonic clock to the rig, until Ctrl-C. Prints one line when it listens."""
    from onbeat.clock import ClockClient, ClockServer, SystemClock

    terminal = Terminal(json=json)
    client = ClockClient(*_address(upstream)) if upstream is not None else None
    server = ClockServer(host, port, clock=client.clock if client is not None else None)
    if client is not None:
        client.start()
    try:
        server.start()
        terminal.document({"host": host, "port": server.port})
        terminal.say(f"serving this machine's clock on {host}:{server.port}; {_who_can_ask(host, server.port)}")
        sys.stdout.flush()
        clock = SystemClock()
        while True:
            clock.sleep_until_ns(clock.now_ns() + 3_600_000_000_000)
    except KeyboardInterrupt:  # the way to end it
        return GOOD
    finally:
        server.stop()
        if client is not None:
            client.stop()


@app.command(epilog="Example: onbeat clock status robot.local")
def status(
    server: Annotated[str | None, typer.Argument(metavar="[HOST[:PORT]]", help="A clock server to ask.")] = None,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="For how long to ask the server.")] = 3.0,
    max_error: Annotated[float, typer.Option("--max-error", metavar="S", help="The bound that is good enough, s.")] = 0.001,
    json: _Json = False,
) -> int:
    """Say what this machine's clock keepers (chrony, ptp4l, phc2sys) say, and how well a server's time is known.

    Exit code 1 when a keeper is in trouble, or the server's time is not known to --max-error.
    """
    from onbeat.clock import SystemClock
    from onbeat.clock.daemons import ask_daemons

    if not 0.1 <= seconds <= 3600:
        raise BadInput(f"--seconds is {seconds:g}; it must lie between 0.1 and 3600")
    if not max_error > 0:
        raise BadInput(f"--max-error is {max_error:g}; it must be above 0 s")
    terminal = Terminal(json=json)
    found: ClockStatus | None = None
    if server is not None:
        clock = SystemClock()
        with _client(server) as client:
            clock.sleep_until_ns(clock.now_ns() + round(seconds * 1e9))
            found = client.status()
    reports = ask_daemons()
    good = not any(report.finding for report in reports)
    for report in reports:
        terminal.say(f"{report.sentence}.", style="yellow" if report.finding else None)
    if found is not None and server is not None:
        terminal.say()
        good &= _tell(terminal, server, found, max_error)
    terminal.document(
        {
            "keepers": [_keeper(report) for report in reports],
            "server": None if found is None else _numbers(found),
            "good": good,
        }
    )
    return GOOD if good else FINDING


def _who_can_ask(host: str, port: int) -> str:
    """Say what to type where; a loopback address is reached from this machine only."""
    from ipaddress import ip_address

    try:
        here = ip_address(host).is_loopback
    except ValueError:
        here = host == "localhost"
    if here:
        return f"only this machine can ask it: onbeat clock status {host}:{port}; for other machines: --host 0.0.0.0"
    return f"on another machine: onbeat clock status HOST:{port}"


@app.command(epilog="Example: onbeat clock watch robot.local")
def watch(
    server: _Server,
    seconds: Annotated[float | None, typer.Option("--seconds", metavar="S", help="End after this; else by Ctrl-C.")] = None,
    rate: Annotated[float, typer.Option("--rate", metavar="HZ", help="Probes per second, up to 1000.")] = 8.0,
    json: _Json = False,
) -> int:
    """Watch a server's time: offset, bound, skew, round trip by leg, and a live picture of the offset against time.

    With --json a line of JSON for each look that found a new exchange instead, --rate times a second.
    """
    from onbeat.clock import SystemClock

    if seconds is not None and not 0 < seconds <= _YEAR_S:
        raise BadInput(
            f"--seconds is {seconds:g}; it must be above 0, and a year ({_YEAR_S:g}) at most; without it Ctrl-C ends it"
        )
    clock = SystemClock()
    end_ns = None if seconds is None else clock.now_ns() + round(seconds * 1e9)
    with _client(server, rate) as client:
        if json:
            _stream(client, clock, end_ns, round(min(_LOOK_NS, 1e9 / rate)))
        else:
            _picture(client, server, clock, end_ns)
        found = client.status()
    return GOOD if found.exchanges else FINDING


def _stream(client: "ClockClient", clock: Any, end_ns: int | None, look_ns: int) -> None:
    import json as lines

    count = 0
    while end_ns is None or clock.now_ns() < end_ns:
        clock.sleep_until_ns(clock.now_ns() + look_ns)
        found = client.status()
        if found.exchanges > count:
            count = found.exchanges
            events = [
                {"kind": e.kind, "t_ns": e.t_ns, "size_lo_ns": e.size_lo_ns, "size_hi_ns": e.size_hi_ns, "leg": e.leg}
                for e in client.events()
            ]
            print(lines.dumps({**_numbers(found), "events": events}), flush=True)


def _picture(client: "ClockClient", server: str, clock: Any, end_ns: int | None) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from onbeat.cli.clock_picture import draw_offset

    rows: deque[tuple[float, float, float]] = deque()
    events: deque[str] = deque(maxlen=4)
    start_ns = clock.now_ns()
    first_ns: int | None = None
    console = Console()
    with Live(Text(""), console=console, refresh_per_second=5, transient=False, auto_refresh=console.is_terminal) as live:
        while end_ns is None or clock.now_ns() < end_ns:
            clock.sleep_until_ns(clock.now_ns() + _LOOK_NS)
            found = client.status()
            elapsed_s = (clock.now_ns() - start_ns) / 1e9
            for event in client.events():
                events.append(f"{elapsed_s:.0f} s: {_event(event)}")
                if event.kind in ("step", "restart"):
                    rows.clear()
            if found.offset_ns is not None and found.bound_ns is not None:
                first_ns = found.offset_ns if first_ns is None or not rows else first_ns
                rows.append((elapsed_s, (found.offset_ns - first_ns) / 1e3, found.bound_ns / 1e3))
            while rows and rows[0][0] < elapsed_s - _WINDOW_S:
                rows.popleft()
            width = max(min(console.width - 14, 100), 20)
            picture = draw_offset(*(zip(*rows, strict=True) if rows else ((), (), ())), width=width)
            live.update(Text("\n".join([*_lines(server, found), "", *picture, *events])))
    if not console.is_terminal:
        console.print()  # what is redirected is drawn once, without the end of its last line


def _lines(server: str, found: "ClockStatus") -> list[str]:
    from onbeat.clock.time_scale import time_scales_apart

    if found.offset_ns is None or found.bound_ns is None or found.skew_ppm is None:
        return [f"{server}: {found.state.value}, no exchange yet; is onbeat clock serve running there, and the port open?"]
    legs = ""
    if found.outbound_ns is not None and found.return_ns is not None:
        legs = f"; there {found.outbound_ns / 1e3:.1f} us, back {found.return_ns / 1e3:.1f} us"
    trouble = []
    for whose, ppm in (("this machine's", found.steered_ppm), ("the server's", found.server_steered_ppm)):
        if ppm is not None and abs(ppm) > _CRYSTAL_PPM:
            trouble.append(f"{whose} clock is being slewed at {ppm:+.0f} ppm; the bound is widened by what that adds")
    if found.wall_apart_ns is not None and (scales := time_scales_apart(found.wall_apart_ns)) is not None:
        trouble.append(f"{scales}; wall time is refused")
    discarded = ", ".join(f"{count} {reason}" for reason, count in sorted(found.discarded.items()))
    return [
        f"{server}: {found.state.value}, known to {found.bound_ns / 1e3:.1f} us (hard bound), stamps by {found.stamps}",
        f"offset {found.offset_ns / 1e6:.6f} ms, skew {found.skew_ppm:+.3f} ppm, epoch {found.epoch}{legs}",
        f"{found.exchanges} exchanges" + (f"; discarded: {discarded}" if discarded else ""),
        *trouble,
    ]


def _tell(terminal: Terminal, server: str, found: "ClockStatus", max_error_s: float) -> bool:
    for line in _lines(server, found):
        terminal.say(line)
    good = found.bound_ns is not None and found.bound_ns <= max_error_s * 1e9
    if not good:
        terminal.say(f"Not known to {max_error_s * 1e3:g} ms; watch it: onbeat clock watch {server}", style="yellow")
    return good


def _event(event: Any) -> str:
    if event.kind == "restart":
        return "the server was restarted, or its own time line was broken: a new epoch began"
    low, high = event.size_lo_ns, event.size_hi_ns
    if event.kind == "step":
        size = f"{low / 1e6:.3f} to {high / 1e6:.3f} ms"
        return f"a clock was set, or its machine slept: the offset jumped by {size}; a new epoch began"
    if event.kind == "rate":
        return f"a clock's rate changed by {low / 1e3:.1f} to {high / 1e3:.1f} ppm: a slew began or ended, or a reference changed"
    return f"the {event.leg} leg takes {low / 1e3:.0f} to {high / 1e3:.0f} us longer: another route"


def _numbers(found: "ClockStatus") -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(found), "state": found.state.value}


def _keeper(report: "DaemonReport") -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(report), "state": report.state.value if report.state is not None else None}


def _client(server: str, rate_hz: float = 8.0) -> "ClockClient":
    from onbeat.clock import ClockClient

    return ClockClient(*_address(server), rate_hz=rate_hz)


def _address(text: str) -> tuple[str, int]:
    if text.count(":") > 1:
        raise BadInput(f"{text!r} looks like an IPv6 address; clocks speak IPv4 only: give HOST or HOST:PORT")
    host, _, port = text.partition(":")
    if (port and not (port.isdecimal() and 0 < int(port) < 65_536)) or not host:
        raise BadInput(f"{text!r} is no HOST or HOST:PORT; a port is a number from 1 to 65535")
    return host, int(port) if port else 5558
