"""Files of others, read without trust: nothing is unpickled, memory is bounded, every refusal is one sentence."""
