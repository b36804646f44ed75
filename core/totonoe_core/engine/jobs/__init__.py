"""Long work beside a collection: consolidate, export, import, re-embed, verify."""
