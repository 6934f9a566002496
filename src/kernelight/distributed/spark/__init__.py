"""kernelight on Spark: the same codes, models and duplicates as on one machine, to the bit.

Everything goes through the DataFrame API, and works with Spark Connect too. The package must be
installed on the workers, in the version of the driver.
"""

from kernelight.distributed.spark.scoring import encode, score

__all__ = ["encode", "score"]
