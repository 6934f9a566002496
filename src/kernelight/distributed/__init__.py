"""The same codes, models and duplicates on many machines.

What a worker does is a function of bytes and an Arrow batch, which belongs to the rooms below
(`TableModel.predict_arrow`, `TableMap.encode_arrow`, `Codes.to_binary`). Here is what carries them
there (`ticket`), and the engine: `spark`.
"""

from kernelight.distributed import ticket
from kernelight.distributed.ticket import Ticket

__all__ = ["Ticket", "spark", "ticket"]
