"""Values as text for a person: safe text, ages, sizes, wording, usage and trees."""
