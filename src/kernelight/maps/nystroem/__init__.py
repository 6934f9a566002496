"""Features of any kernel from its values against some rows, the landmarks (`KernelNystroem`)."""
