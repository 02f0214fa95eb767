//! Objects: upload, download, list, move, copy, remove, sign, info.
