"""Fitted models as ONNX graphs, part by part."""
