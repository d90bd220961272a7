"""The core records: frozen, without input or output, known to every room."""
