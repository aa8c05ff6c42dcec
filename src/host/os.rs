//! os-release(5) and the names of architectures.
