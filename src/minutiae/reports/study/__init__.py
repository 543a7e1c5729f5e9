"""The report of a study: one page, its figures and its tables. Reads results; trains nothing and chooses no design."""

from minutiae.reports.study.write import write_report

__all__ = ["write_report"]
