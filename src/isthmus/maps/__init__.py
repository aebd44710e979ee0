"""Maps between the features of two domains, from rows that are the same object: arrays in, values out."""
