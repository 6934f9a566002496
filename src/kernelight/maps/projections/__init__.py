"""Random projections of rows.

Read as cosines they are features (`RandomFourier`, `AlignedFourier`), read as bits they are codes
(`SignProjection`, `BinaryFourier`).
"""
