"""Model files: a fitted model as safetensors with its parameters as JSON."""

__all__ = ["dry_run", "header", "model_file"]
