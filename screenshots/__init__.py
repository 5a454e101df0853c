"""The pictures of the documents, drawn from the running application: ``python -m screenshots``."""
