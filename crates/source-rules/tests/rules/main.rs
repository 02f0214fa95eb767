//! Rules for the sources and the documents of the whole repository.

mod asvs;
mod citations;
mod concurrency;
mod cycles;
mod decisions;
mod dependencies;
mod layers;
mod logs;
mod registers;
mod single;
