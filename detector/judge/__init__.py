"""The LLM judge: the question about a dialogue (`prompt`), the reading that answers it (`reading`), and what
runs the model (`engine`). The models themselves are in `dialint.detector.engines`."""
