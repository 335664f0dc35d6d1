"""See it: one folder for a run, with an HTML page, SVG pictures and the numbers as JSON."""

from onbeat.report.document import iso_date, plain_json
from onbeat.report.folder import RunFolder, run_folder
from onbeat.report.html import PALETTE, Figure, Paragraph, Section, Table, page

__all__ = ("PALETTE", "Figure", "Paragraph", "RunFolder", "Section", "Table", "iso_date", "page", "plain_json", "run_folder")
