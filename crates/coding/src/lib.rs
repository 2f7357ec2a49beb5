//! Bytes into content codings: gzip, Brotli, zstd, as a stream that can be flushed.
//!
//! Which coding, and whether at all, is decided elsewhere (`policy::coding`, `rules`); on which thread, and in how large
//! pieces, too (`samovar`). Not here: decoding, which Samovar never does.

mod encoder;

pub use encoder::{Encoder, memory_bytes};
pub use samovar_policy::Coding;
