"""`totonoe quality`: the guard and Recall against labelled files, on the real engine."""
