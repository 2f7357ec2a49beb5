//! An HTTP/1.1 upstream asked over real sockets: origins that behave, and origins that do not.

mod answers;
mod limits;
mod pool;
mod raw;
mod requests;
