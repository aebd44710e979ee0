"""Solvers over blocks of source rows, hundreds to millions of them: LogDet problems in M, and squared hinges."""
