"""The sheet of settings: what each is, where its value comes from, and a change of it in place."""
