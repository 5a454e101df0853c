"""What the screens are made of. A widget gets data and posts messages; it reads and writes nothing itself."""
