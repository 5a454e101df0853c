"""Actions on the agent of a tab: its settings, installs, login, trouble, permission rules and servers."""
