//! hot
