//! Formats errors with their causes, for the log.

use std::error::Error;
use std::fmt;

/// Displays an error with its causes, outermost first: `a: b: c`.
///
/// A cause that the error before it already quotes at its end is omitted.
#[derive(Debug, Clone, Copy)]
pub struct ErrorChain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut previous = self.0.to_string();
        f.write_str(&previous)?;
        let mut next = self.0.source();
        while let Some(error) = next {
            let text = error.to_string();
            if !previous.ends_with(&text) {
                write!(f, ": {text}")?;
            }
            previous = text;
            next = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        source: Option<Box<Layer>>,
    }

    fn chain(texts: &[&'static str]) -> String {
        let wrap = |source: Option<Box<Layer>>, text: &&'static str| Some(Box::new(Layer { text, source }));
        ErrorChain(&*texts.iter().rev().fold(None, wrap).expect("at least one text")).to_string()
    }

    #[test]
    fn causes_follow_their_error() {
        assert_eq!(chain(&["sign-in failed"]), "sign-in failed");
        assert_eq!(chain(&["sign-in failed", "users.by_email", "closed"]), "sign-in failed: users.by_email: closed");
    }

    #[test]
    fn quoted_cause_is_omitted() {
        assert_eq!(chain(&["users.by_email: closed", "closed", "timeout"]), "users.by_email: closed: timeout");
        assert_eq!(chain(&["a: b: c", "b: c", "c"]), "a: b: c");
        assert_eq!(chain(&["closed", "not closed"]), "closed: not closed");
    }
}
