// Holder of the precompiled header; also stands in for a room without files.
