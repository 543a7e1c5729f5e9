"""Where the numbers of a run go besides its own files: TensorBoard always, others when asked, yours too."""

from minutiae.runs.sinks.choice import SINKS, Sinks, make_sinks
from minutiae.runs.sinks.protocol import Sink, numbers_of, save_sink_state, sink_state

__all__ = ["SINKS", "Sink", "Sinks", "make_sinks", "numbers_of", "save_sink_state", "sink_state"]
