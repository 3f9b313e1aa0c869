//! What the repository promises about its own text.

mod hygiene;
mod layering;
mod promises;
mod tree;
