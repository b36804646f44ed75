"""Answers for people, a module for each topic: lines, and tables where there are many of a kind."""
