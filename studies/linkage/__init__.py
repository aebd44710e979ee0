"""The study of linking two tables: what they share, beside other linkers and beside tf-idf.

Nothing is imported here: the runners of the other linkers live in environments that have no isthmus.
"""
