//! JSON shapes and how bodies are read.
