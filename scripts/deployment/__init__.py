"""The checks of scripts/check-deploy."""
