"""How a bench says its bars: a line each as they come, or one JSON object at the end for `measure.py`."""

import json
from typing import Any


class Bars:
    """The bars of one bench."""

    def __init__(self, as_json: bool) -> None:
        self.rows: list[dict[str, Any]] = []
        self._as_json = as_json

    def tell(self, what: str, bar: str, figure: str, met: bool | None) -> None:
        """Add one; met is None where it could not be measured, and the figure then says why."""
        self.rows.append({"what": what, "bar": bar, "figure": figure, "met": met})
        if not self._as_json:
            mark = {True: "met   ", False: "MISSED", None: "not   "}[met]
            print(f"{mark} {what}: {figure} (bar: {bar})", flush=True)

    def end(self) -> None:
        """Print the object, where it is wanted."""
        if self._as_json:
            print(json.dumps({"bars": self.rows}))
