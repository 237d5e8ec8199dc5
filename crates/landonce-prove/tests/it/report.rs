//! One report, in every form: what a person reads, what CI reads, and that nothing of a stranger's text breaks either.

mod html;
mod json;
mod junit;
mod sample;
mod terminal;
