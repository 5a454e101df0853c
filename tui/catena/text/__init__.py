"""Values as text for a person: safe text, widths, times, wording, usage and trees; and records as JSON."""
