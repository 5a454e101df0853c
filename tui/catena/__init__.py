"""What a person sees: the Textual app, the command line, headless runs."""

"""What a person sees: the Textual app, the command line, headless runs."""

__version__ = "0.1.0"
