"""`totonoe quality --stage`: figures on public texts that nothing was fitted on."""
