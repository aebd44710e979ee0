"""Tables, model files, ONNX and AnnData."""
