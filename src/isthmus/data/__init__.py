"""Two collections of rows: labels, known pairs, blocks of rows, splits and data sets."""
