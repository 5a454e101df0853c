"""Elicitation: what an agent asks the person for, in forms and by web addresses, and how answers are checked."""
