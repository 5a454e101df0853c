"""The history picker."""
