//! The front: listeners, serving cores, signals, and the stop.
//!
//! One thread and one current-thread runtime per core; every core accepts for itself. Not here: what a request
//! means (`pipeline`), how a connection's bytes are framed (`samovar_hot`).

mod accept;
mod banner;
mod inside;
mod listen;
mod meet;
mod proxied;
mod side;
mod signals;
mod tls;
mod tunnel;
mod worker;

pub use accept::{BACKLOG, Listener, bind, is_listened_at, once_free, too_few_files};
pub use banner::{about, banner, show_address};
pub use inside::Inside;
pub use side::heads_max_bytes;
pub use signals::{Signals, Wish};
pub use tls::acceptor;
pub use worker::start;
