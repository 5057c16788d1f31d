"""Model files: a fitted model as safetensors with its parameters as JSON."""
