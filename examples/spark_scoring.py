"""Score a table on a cluster with a model that was fitted on one machine.

    spark-submit examples/spark_scoring.py MODEL INPUT OUTPUT [ID]

MODEL is a file of ``kernelight fit`` on the machine that submits, INPUT a folder of Parquet files
that Spark can read, OUTPUT where the predictions go, and ID the column that they are known by ("id"
unless told otherwise). kernelight must be installed on all machines, in the same version; workers
refuse to go on if it is not.
"""

import sys

from pyspark.sql import SparkSession

from kernelight import TableModel
from kernelight.distributed.spark import score


def main(model: str, rows: str, output: str, id_column: str = "id") -> None:
    spark = SparkSession.builder.appName("kernelight").getOrCreate()
    fitted = TableModel.load(model)
    wanted = fitted.task == "classification" and hasattr(fitted, "predict_proba")
    scored = score(spark.read.parquet(rows), fitted, probabilities=wanted, keep=[id_column])
    scored.write.mode("errorifexists").parquet(output)
    print(f"{spark.read.parquet(output).count():,} predictions are in {output}.")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
