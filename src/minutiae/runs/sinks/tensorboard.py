"""TensorBoard event files, always written. Knows the file format through tensorboardX; starts no thread."""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from minutiae.errors import RunError
from minutiae.runs.atomic import write_failure
from minutiae.runs.directory import RunDirectory
from minutiae.runs.sinks.protocol import numbers_of

FOLDER = "tensorboard"
_STAMP = re.compile(r"events\.out\.tfevents\.([0-9]{10,18})\.", re.ASCII)


class TensorBoardSink:
    """Writes `RUN/tensorboard/events.out.tfevents...`, one file for each `open`.

    tensorboardX supplies the message types. Its `SummaryWriter` is not used: it names files by the second, so
    that a quick resume overwrites its predecessor, and writes in a thread, where a full disk goes unheard.
    """

    name = "tensorboard"

    def __init__(self) -> None:
        self._file: BinaryIO | None = None
        self._path = Path()

    def open(self, run: RunDirectory, config: Mapping[str, Any], resume_from: int | None) -> None:
        """Start a new event file; later steps of earlier files are marked as void for TensorBoard."""
        from tensorboardX.proto.event_pb2 import SessionLog
        from tensorboardX.summary import text

        folder = run.path / FOLDER
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stamps = [int(match[1]) for entry in folder.iterdir() if (match := _STAMP.match(entry.name))]
            # TensorBoard reads the files in the order of their names: the newest must have the latest name.
            stamp = max([int(time.time()), *(earlier + 1 for earlier in stamps)])
            self._path = folder / f"events.out.tfevents.{stamp:010d}.minutiae"
            self._file = self._path.open("xb")
        except OSError as error:
            raise RunError(write_failure(folder, error)) from error
        self._write(file_version="brain.Event:2")
        if stamps:
            # `purge_step` of a `SummaryWriter`: readers drop everything from this step on.
            first_void = 0 if resume_from is None else resume_from + 1
            self._write(step=first_void, session_log=SessionLog(status=SessionLog.START))
        if resume_from is None:
            listing = "".join(f"    {line}\n" for line in run.config_text.splitlines())
            self._write(step=0, summary=text("config", listing))

    def log(self, iteration: int, step: int, metrics: Mapping[str, Any]) -> None:
        """Write one event with every number, at the environment step."""
        from tensorboardX.proto.summary_pb2 import Summary

        points = [Summary.Value(tag=name, simple_value=value) for name, value in numbers_of(metrics).items()]
        self._write(step=step, summary=Summary(value=points))

    def close(self) -> None:
        """Close the file; every event is already in it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, **fields: Any) -> None:
        """Append one record: length, its checksum, the event, its checksum (the TFRecord format)."""
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.record_writer import masked_crc32c

        if self._file is None:
            raise RuntimeError("this TensorBoard sink is not open")
        event = Event(wall_time=time.time(), **fields).SerializeToString()
        length = struct.pack("<Q", len(event))
        checks = (struct.pack("<I", masked_crc32c(part)) for part in (length, event))
        try:
            self._file.write(length + next(checks) + event + next(checks))
            # Flushed so that curves are live and a kill loses nothing.
            self._file.flush()
        except OSError as error:
            raise RunError(write_failure(self._path, error)) from error
