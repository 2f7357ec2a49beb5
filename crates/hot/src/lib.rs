//! The hot tier: the layer below the HTTP engine (hyper 1.12, HTTP/1), on any byte stream.
//!
//! Every request head of a connection is framed and strictly checked here first (RFC 9112). A request whose
//! whole answer lies prepared in this core's [`HotMap`] is answered at once, by bytes; every other request is
//! handed to hyper, exactly one at a time, head and body and not a byte more. That one rule is why unpatched
//! hyper is safe above us: its read-ahead can never hold a later request that a hot answer would overtake.
//!
//! One connection, as the server runs it (everything of a connection stays on one core, in one local task):
//!
//! ```no_run
//! # use std::{convert::Infallible, rc::Rc};
//! # use bytes::Bytes;
//! # use samovar_hot::{Accepted, CoreSide, End, Hub, engine, serve};
//! # async fn run(side: Rc<dyn CoreSide>, stream: tokio::net::TcpStream) {
//! let hub = Hub::new(side);                       // one per core; `hub.grant(…)` fills its map
//! let http = engine(&hub);                        // hyper's builder with all that the layer needs set right
//! // once per core: every 100 ms `hub.sweep()` finds timeouts and drops what nobody asks for
//! let layer = hub.accept(stream, Accepted { listener: 0, peer: None });
//! let end = serve(layer, &http, |request, conn| async move {
//!     // Called for cold requests only, one at a time, body still unread.
//!     let _arrived_ns = conn.arrival_ns();        // when the head was complete
//!     let _why_not_hot = conn.refusal();          // the reason the hot tier stood aside
//!     # drop(request);
//!     Ok::<_, Infallible>(http::Response::new(Full::from("hello")))
//! })
//! .await;
//! match end {
//!     End::Closed => {}
//!     End::Failed(_error) => {}                   // the client went away, or the service failed
//!     End::Upgraded(_pipe) => {}                  // only after `conn.accept_upgrade()` and a 101
//! }
//! # }
//! # struct Full(Option<Bytes>);
//! # impl From<&'static str> for Full { fn from(s: &'static str) -> Full { Full(Some(Bytes::from(s))) } }
//! # impl http_body::Body for Full {
//! #     type Data = Bytes;
//! #     type Error = Infallible;
//! #     fn poll_frame(mut self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>)
//! #         -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
//! #         std::task::Poll::Ready(self.0.take().map(|b| Ok(http_body::Frame::data(b))))
//! #     }
//! # }
//! ```
//!
//! [`serve`] does, in order: the idle loop before hyper exists (a connection that only meets hot requests never
//! builds one), then hyper on the layer, each response body wrapped so that the layer sees it dropped, at the end
//! a half-close and a brief drain where the client may still be sending (RFC 9112 §9.6).
//!
//! Stopping: `hub.drain()` makes every further request cold and adds `Connection: close` to the responses; after a grace for
//! requests that are on their way `hub.close_idle()` closes idle connections; wait until `hub.connections()` is 0.
//!
//! Not here: the decision what may be hot and for how long (a [`Grant`] is the server's word for it), any cache,
//! any log. The layer counts nothing; it tells the server's [`CoreSide`].

pub mod head;
mod heads;
mod hub;
mod inbuf;
mod layer;
mod limits;
mod map;
mod out;
mod prepared;
pub mod proxy;
mod reject;
mod serve;
mod share;
mod wire;

pub use head::{Framing, Head, HeadLimits};
pub use hub::{Accepted, ConnHandle, CoreSide, HotHit, Hub};
pub use layer::{Layer, Next};
pub use limits::Limits;
pub use map::{CookieMatcher, CookieWish, Grant, HotMap, Listed, MapBounds, VaryValue};
pub use prepared::{Lifetime, Prepared, StateCell};
pub use reject::{BodyRejected, status};
pub use serve::{End, Pipe, engine, serve};
pub use share::Share;
pub use wire::Wire;
