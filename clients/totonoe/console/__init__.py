"""A local web page over the client: the review of questions, memories, operations, health."""
