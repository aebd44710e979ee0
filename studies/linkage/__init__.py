"""The study of record linkage: two tables of the same objects, with and without shared columns."""
