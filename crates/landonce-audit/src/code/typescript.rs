//! TypeScript: its own grammars, JavaScript's walk.

use std::path::Path;

use super::{Function, Unread, javascript};

/// Reads a file of TypeScript; a `.tsx` has JSX in it, where `<T>x` isn't a cast.
pub(super) fn read_file(path: &Path, text: &str) -> (Vec<Function>, Vec<Unread>) {
    let language = if path.extension().is_some_and(|extension| extension == "tsx") {
        tree_sitter_typescript::LANGUAGE_TSX
    } else {
        tree_sitter_typescript::LANGUAGE_TYPESCRIPT
    };
    javascript::read_with(&language.into(), text)
}
