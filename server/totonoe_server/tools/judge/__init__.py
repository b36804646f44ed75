"""`totonoe judge try`: what a judge would change, on labelled pairs."""
