"""One file for each format of arrays, with `NAME`, `recognises(file, head)` and `tensors(file)`."""
