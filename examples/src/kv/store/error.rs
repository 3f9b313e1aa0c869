//! The errors of commands, in Redis's words.

use std::borrow::Cow;

/// An error reply, without its leading `-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Error(pub(crate) Cow<'static, [u8]>);

impl Error {
    pub(crate) const SYNTAX: Self = Self::new("ERR syntax error");
    pub(crate) const NOT_INTEGER: Self = Self::new("ERR value is not an integer or out of range");
    pub(crate) const NOT_INT: Self =
        Self::new("ERR value is out of range, value must between -2147483648 and 2147483647");
    pub(crate) const WRONG_TYPE: Self =
        Self::new("WRONGTYPE Operation against a key holding the wrong kind of value");
    pub(crate) const OVERFLOW: Self = Self::new("ERR increment or decrement would overflow");
    pub(crate) const DECREMENT: Self = Self::new("ERR decrement would overflow");
    pub(crate) const NEGATIVE: Self = Self::new("ERR value is out of range, must be positive");
    pub(crate) const TOO_LONG: Self =
        Self::new("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    pub(crate) const CURSOR: Self = Self::new("ERR invalid cursor");
    pub(crate) const OUT_OF_MEMORY: Self =
        Self::new("OOM command not allowed when used memory > 'maxmemory'.");
    pub(crate) const LONG_TRANSACTION: Self =
        Self::new("ERR transaction is longer than 'client-query-buffer-limit'");
    pub(crate) const CROSS_SHARD: Self = Self::new(
        "CROSSSLOT Keys in request don't hash to the same shard (give them a common {tag}, or start with --shards 1)",
    );

    pub(crate) const fn new(text: &'static str) -> Self {
        Self(Cow::Borrowed(text.as_bytes()))
    }

    /// Returns an error that was put together.
    pub(crate) fn made(text: String) -> Self {
        Self(Cow::Owned(text.into_bytes()))
    }

    /// Returns an error that repeats a client's word between two texts.
    pub(crate) fn quoting(before: &str, word: &[u8], after: &str) -> Self {
        Self(Cow::Owned([before.as_bytes(), up_to_zero(word), after.as_bytes()].concat()))
    }

    /// Returns the error for a command called with too few or too many arguments.
    pub(crate) fn arity(name: &str) -> Self {
        Self::made(format!("ERR wrong number of arguments for '{name}' command"))
    }

    /// Returns the error for a time to live that is zero, negative or too far away.
    pub(crate) fn expire_time(name: &str) -> Self {
        Self::made(format!("ERR invalid expire time in '{name}' command"))
    }

    /// Returns the error for a subcommand that `command` does not have.
    pub(crate) fn subcommand(command: &str, name: &[u8]) -> Vec<u8> {
        let name = shown(name, SHOWN_BYTES_MAX);
        let hint = format!("'. Try {command} HELP.");
        [b"ERR unknown subcommand '", name, hint.as_bytes()].concat()
    }

    /// Returns the error for a subcommand that does not exist in this form.
    pub(crate) fn subcommand_or_arity(command: &str, name: &[u8]) -> Self {
        let name = shown(name, SHOWN_BYTES_MAX);
        let hint = format!("'. Try {command} HELP.");
        let unknown = b"ERR unknown subcommand or wrong number of arguments for '";
        Self(Cow::Owned([unknown, name, hint.as_bytes()].concat()))
    }

    /// Returns the error for a command that does not exist.
    pub(crate) fn unknown(args: super::Args<'_>) -> Vec<u8> {
        let mut repeated = Vec::new();
        for word in args.tail(1) {
            if repeated.len() >= SHOWN_BYTES_MAX {
                break;
            }
            let word = shown(word, SHOWN_BYTES_MAX - repeated.len());
            repeated.extend([b"'", word, b"' "].concat());
        }
        let name = shown(args.get(0), SHOWN_BYTES_MAX);
        [b"ERR unknown command '", name, b"', with args beginning with: ", &repeated].concat()
    }
}

/// Bytes of a client's words repeated in an error.
const SHOWN_BYTES_MAX: usize = 128;

/// Returns what an error repeats of a client's word: up to a zero byte, as C prints it.
fn shown(word: &[u8], bytes_max: usize) -> &[u8] {
    let word = up_to_zero(word);
    word.get(..bytes_max).unwrap_or(word)
}

/// Returns what C takes for the whole of a word: what is before its first zero byte.
pub(crate) fn up_to_zero(word: &[u8]) -> &[u8] {
    word.split(|&byte| byte == 0).next().unwrap_or_default()
}
